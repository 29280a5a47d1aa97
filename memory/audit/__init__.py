"""What an audit of a memory finds: writes that contradict each other, and what is missing."""
