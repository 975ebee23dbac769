{# What the trigger of an UPDATE runs. An IF evaluates the first condition first. MariaDB also runs the trigger for a
   row that UPDATE IGNORE does not change. #}
{% from "mysql/add.sql" import add %}
BEGIN
{% for change in changes %}
    IF {{ change.changed }}
{%- if change.same %}

        AND NOT EXISTS (SELECT 1 FROM {{ change.table }} AS same WHERE {{ change.same|join(" AND ") }} LOCK IN SHARE MODE)
{%- endif %} THEN
{% for row in change.rows %}
        {{ add(row)|indent(8) }}
{% endfor %}
    END IF;
{% endfor %}
END
