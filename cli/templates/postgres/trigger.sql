{% set head = "CREATE TRIGGER " ~ name ~ " " ~ when ~ " " ~ event ~ " ON " ~ table %}
{% set rows = " REFERENCING " ~ referencing|join(" ") if referencing else "" %}
{{ head }}{{ "\n   " if (head ~ rows)|length > 120 }}{{ rows }}
    FOR EACH STATEMENT EXECUTE FUNCTION {{ function }}();
