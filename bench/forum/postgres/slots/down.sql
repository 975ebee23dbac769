DROP TRIGGER IF EXISTS "bench_count_comment_votes_truncate" ON "public"."bench_forum_comment_votes";
DROP TRIGGER IF EXISTS "bench_count_comment_votes_delete" ON "public"."bench_forum_comment_votes";
DROP TRIGGER IF EXISTS "bench_count_comment_votes_update" ON "public"."bench_forum_comment_votes";
DROP TRIGGER IF EXISTS "bench_count_comment_votes_insert" ON "public"."bench_forum_comment_votes";
DROP FUNCTION IF EXISTS "public"."bench_count_comment_votes_insert"(), "public"."bench_count_comment_votes_update"(),
    "public"."bench_count_comment_votes_delete"(), "public"."bench_count_comment_votes_truncate"();
DROP TRIGGER IF EXISTS "bench_count_post_votes_truncate" ON "public"."bench_forum_post_votes";
DROP TRIGGER IF EXISTS "bench_count_post_votes_delete" ON "public"."bench_forum_post_votes";
DROP TRIGGER IF EXISTS "bench_count_post_votes_update" ON "public"."bench_forum_post_votes";
DROP TRIGGER IF EXISTS "bench_count_post_votes_insert" ON "public"."bench_forum_post_votes";
DROP FUNCTION IF EXISTS "public"."bench_count_post_votes_insert"(), "public"."bench_count_post_votes_update"(),
    "public"."bench_count_post_votes_delete"(), "public"."bench_count_post_votes_truncate"();
DROP TRIGGER IF EXISTS "bench_count_comments_truncate" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_delete" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_update" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_comments_insert" ON "public"."bench_forum_comments";
DROP FUNCTION IF EXISTS "public"."bench_count_comments_insert"(), "public"."bench_count_comments_update"(),
    "public"."bench_count_comments_delete"(), "public"."bench_count_comments_truncate"();
DROP TRIGGER IF EXISTS "bench_count_site_comments_truncate" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_site_comments_delete" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_site_comments_update" ON "public"."bench_forum_comments";
DROP TRIGGER IF EXISTS "bench_count_site_comments_insert" ON "public"."bench_forum_comments";
DROP FUNCTION IF EXISTS "public"."bench_count_site_comments_insert"(), "public"."bench_count_site_comments_update"(),
    "public"."bench_count_site_comments_delete"(), "public"."bench_count_site_comments_truncate"();
DROP TRIGGER IF EXISTS "bench_count_posts_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_posts_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_posts_insert"(), "public"."bench_count_posts_update"(),
    "public"."bench_count_posts_delete"(), "public"."bench_count_posts_truncate"();
DROP TRIGGER IF EXISTS "bench_count_site_posts_truncate" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_site_posts_delete" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_site_posts_update" ON "public"."bench_forum_posts";
DROP TRIGGER IF EXISTS "bench_count_site_posts_insert" ON "public"."bench_forum_posts";
DROP FUNCTION IF EXISTS "public"."bench_count_site_posts_insert"(), "public"."bench_count_site_posts_update"(),
    "public"."bench_count_site_posts_delete"(), "public"."bench_count_site_posts_truncate"();
