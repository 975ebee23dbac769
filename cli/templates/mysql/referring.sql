{# The rows that refer to a row of the parent table. It reads what is committed, as the foreign keys do. #}
(
    SELECT {{ columns|join(", ") }} FROM {{ table }}
    WHERE ({{ refer|join(" OR ") }}){% for other in deleted %} AND NOT ({{ other }}){% endfor %} AND @@foreign_key_checks
    FOR UPDATE
) AS counted
