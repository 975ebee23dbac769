{% from "rows.sql" import drift as query %}
SELECT COUNT(*) FROM {{ query(drift) }}
