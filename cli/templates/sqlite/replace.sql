{# Refuses a row that could replace another one. #}

WHEN (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0
    AND {{ replaces|join("\n    OR ") }} BEGIN
    SELECT RAISE(ABORT, {{ message }});
END
