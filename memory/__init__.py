"""What happened and what is known: the ledger, episodes in Cognee, the schema and its glossary."""
