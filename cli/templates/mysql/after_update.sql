{# What the trigger of an UPDATE runs. IF tests its conditions from left to right, so that a row that counts as before
   costs no query. #}
{% from "mysql/add.sql" import add %}
BEGIN
{% for change in changes %}
    IF {{ change.condition }}
{%- if change.still_old %}

        AND NOT EXISTS (SELECT 1 FROM {{ change.table }} AS same
            WHERE {{ change.still_old|join("\n                AND ") }}
            LOCK IN SHARE MODE)
{%- endif %} THEN
{% for addition in change.additions %}
        {{ add(addition)|indent(8) }}
{% endfor %}
    END IF;
{% endfor %}
END
