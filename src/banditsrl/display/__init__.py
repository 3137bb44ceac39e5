"""What people see of an object: a summary, a table, a picture, a bar."""
