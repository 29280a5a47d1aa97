"""From recalled episodes and a model's reply to the SQL that runs."""
