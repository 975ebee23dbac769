DROP TRIGGER IF EXISTS "bench_count_hot_truncate" ON "public"."bench_hot_comments";
DROP TRIGGER IF EXISTS "bench_count_hot_delete" ON "public"."bench_hot_comments";
DROP TRIGGER IF EXISTS "bench_count_hot_update" ON "public"."bench_hot_comments";
DROP TRIGGER IF EXISTS "bench_count_hot_insert" ON "public"."bench_hot_comments";
DROP FUNCTION IF EXISTS "public"."bench_count_hot_insert"(), "public"."bench_count_hot_update"(),
    "public"."bench_count_hot_delete"(), "public"."bench_count_hot_truncate"();
