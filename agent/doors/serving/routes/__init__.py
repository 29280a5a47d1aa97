"""The routes of the HTTP API, by subject. Each handler says what it takes and makes one call to the desk."""
