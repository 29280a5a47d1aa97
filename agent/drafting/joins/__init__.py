"""What `agent.drafting.joining` is made of."""
