CREATE TRIGGER {{ name }} {{ when }} {{ event }} ON {{ table }}
{%- if referencing %} REFERENCING {{ referencing|join(" ") }}{% endif %}

    FOR EACH STATEMENT EXECUTE FUNCTION {{ function }}();
