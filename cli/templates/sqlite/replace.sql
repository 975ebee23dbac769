{# Refuses a row that could replace another one. SQLite runs no trigger for the row that is replaced, unless
   `recursive_triggers` is on. #}
BEFORE {{ event }} ON {{ table }} FOR EACH ROW WHEN ({{ replaces|join("\n    OR ") }})
    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 BEGIN
    SELECT RAISE(ABORT, {{ message }});
END
