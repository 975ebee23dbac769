-- Operators and functions that fit better than those of pg_catalog. Each tells `spy` who called it.
DO $plant$
DECLARE
    types TEXT[] := ARRAY['int2', 'int4', 'int8', 'numeric', 'text', 'varchar', 'bpchar', 'name', 'bool', 'date',
        'timestamp', 'timestamptz', 'oid', 'regclass', 'regproc', 'regprocedure', '"char"', 'text[]', 'name[]',
        'int8[]', 'information_schema.sql_identifier', 'information_schema.character_data'];
    operators TEXT[] := ARRAY['=', '<>', '<', '>', '<=', '>=', '+', '-', '*', '/', '%', '||', '~', '~~', '!~~'];
    of_left TEXT; of_right TEXT; operator TEXT; one RECORD; signature TEXT; arity INT; returned TEXT;
    body TEXT := 'BEGIN PERFORM public.spy(%L); RETURN NULL; END';
BEGIN
    FOREACH of_left IN ARRAY types LOOP
        FOREACH of_right IN ARRAY types LOOP
            FOREACH operator IN ARRAY operators LOOP
                CONTINUE WHEN EXISTS (SELECT FROM pg_operator WHERE oprname = operator
                    AND oprleft = of_left::regtype AND oprright = of_right::regtype);
                returned := CASE WHEN operator IN ('+', '-', '*', '/', '%') THEN 'int8' WHEN operator = '||' THEN 'text' ELSE 'bool' END;
                EXECUTE format('CREATE FUNCTION public.operator_%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L',
                    to_hex(ascii(operator) * 256 + ascii(substr(operator, 2) || ' ')), of_left, of_right, returned,
                    format(body, concat_ws(' ', of_left, operator, of_right)));
                EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.operator_%s)',
                    operator, of_left, of_right, to_hex(ascii(operator) * 256 + ascii(substr(operator, 2) || ' ')));
            END LOOP;
        END LOOP;
    END LOOP;
    -- Each function of texts also of names and of varying characters, each function of anything of each type.
    FOR one IN
        SELECT DISTINCT proname, args, CASE WHEN typtype = 'p' THEN 'text' ELSE format_type(prorettype, NULL) END AS returned
        FROM pg_proc, pg_type, unnest(types) AS type, unnest(ARRAY['varchar', 'name', 'bpchar', 'text']) AS of_text,
            LATERAL (SELECT string_agg(CASE
                WHEN arg IN ('"any"'::regtype, 'anyelement'::regtype, 'anynonarray'::regtype, 'anycompatible'::regtype) THEN type
                WHEN arg IN ('anyarray'::regtype, 'anycompatiblearray'::regtype) THEN format_type(type::regtype, NULL) || CASE WHEN type LIKE '%[]' THEN '' ELSE '[]' END
                WHEN arg = 'text'::regtype THEN of_text
                WHEN arg = 'oid'::regtype AND type LIKE 'reg%' THEN type
                ELSE format_type(arg, NULL) END, ', ' ORDER BY place) AS args
                FROM unnest(proargtypes) WITH ORDINALITY AS args (arg, place)) AS args
        WHERE pg_proc.pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND pg_type.oid = prorettype AND NOT proretset
            AND pronargs BETWEEN 1 AND 3 AND provariadic = 0
            AND proargtypes::oid[] && ARRAY['"any"', 'anyelement', 'anynonarray', 'anycompatible', 'anyarray', 'anycompatiblearray', 'text', 'oid']::regtype[]::oid[]
            AND NOT proargtypes::oid[] && ARRAY['internal', 'anyenum', 'anyrange', 'anymultirange', 'anycompatiblerange', 'cstring', 'pg_node_tree', 'trigger', 'record']::regtype[]::oid[]
            AND prorettype NOT IN ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype)
            AND (NOT proargtypes::oid[] && ARRAY['"any"', 'anyelement', 'anynonarray', 'anycompatible', 'anyarray', 'anycompatiblearray']::regtype[]::oid[] OR of_text = 'text')
    LOOP
        CONTINUE WHEN to_regprocedure(format('pg_catalog.%I(%s)', one.proname, one.args)) IS NOT NULL
            OR to_regprocedure(format('public.%I(%s)', one.proname, one.args)) IS NOT NULL;
        EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L',
            one.proname, one.args, one.returned, format(body, format('%s(%s)', one.proname, one.args)));
    END LOOP;
    -- Those of any number of anything.
    FOREACH of_left IN ARRAY ARRAY['concat', 'format', 'concat_ws', 'json_build_object', 'jsonb_build_object', 'json_build_array', 'jsonb_build_array', 'num_nulls'] LOOP
        FOREACH of_right IN ARRAY types LOOP
            FOR arity IN 0..6 LOOP
                signature := CASE WHEN of_left IN ('format', 'concat_ws') THEN 'text, ' ELSE '' END || of_right || repeat(', ' || of_right, arity);
                EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', of_left, signature,
                    CASE of_left WHEN 'num_nulls' THEN 'int4' WHEN 'concat' THEN 'text' WHEN 'format' THEN 'text' WHEN 'concat_ws' THEN 'text' ELSE left(of_left, strpos(of_left, '_') - 1) END,
                    format(body, format('%s(%s)', of_left, signature)));
            END LOOP;
        END LOOP;
    END LOOP;
    FOREACH of_left IN ARRAY types LOOP
        EXECUTE format('CREATE FUNCTION public.gather(int8, %s) RETURNS int8 LANGUAGE plpgsql AS %L',
            of_left, format(body, 'an aggregate of ' || of_left));
        FOREACH of_right IN ARRAY ARRAY['count', 'sum', 'max', 'min', 'array_agg', 'json_agg', 'jsonb_agg', 'bool_and', 'bool_or'] LOOP
            CONTINUE WHEN to_regprocedure(format('pg_catalog.%I(%s)', of_right, of_left)) IS NOT NULL;
            EXECUTE format('CREATE AGGREGATE public.%I(%s) (SFUNC = public.gather, STYPE = int8)', of_right, of_left);
        END LOOP;
        CONTINUE WHEN of_left LIKE '%[]';
        EXECUTE format('CREATE FUNCTION public.unnest(%s[]) RETURNS SETOF %s LANGUAGE plpgsql AS %L',
            of_left, of_left, format(replace(body, 'RETURN NULL; ', ''), 'unnest(' || of_left || ')'));
    END LOOP;
END $plant$;
