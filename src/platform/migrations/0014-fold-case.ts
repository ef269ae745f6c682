import type { Migration } from '../../database/database.ts'

/**
 * Upper and lower case of every alphabet, whatever the locale of the database: `lower` alone knows plain letters under the locale C, and
 * Turkish ones under a Turkish locale. The two forms of the small sigma count as one letter.
 */
export const foldCase: Migration = {
  name: '0014-fold-case',
  sql: `
    create function fold_case(value text) returns text
      language sql immutable parallel safe
      return translate(lower(value collate "und-x-icu"), 'ς', 'σ');

    drop index users_email;
    create unique index users_email on users (account_id, fold_case(email));
    drop index auditors_email;
    create unique index auditors_email on auditors (account_id, fold_case(email));

    create or replace function search_text(first_name text, last_name text, email text) returns text
      language sql immutable parallel safe
      return fold_case(regexp_replace(
        normalize(
          left(coalesce(first_name, ''), 191) || ' ' || left(coalesce(last_name, ''), 191) || ' ' || left(email, 191), NFD),
        '[\\u0300-\\u036f]', '', 'g'));
    alter table users drop column words;
    alter table users add column words tsvector not null
      generated always as (search_words(first_name, last_name, email)) stored;
    create index users_words on users using gin (words);
    drop index users_names;
    create index users_names on users
      (account_id, fold_case(coalesce(last_name, first_name, email)), fold_case(coalesce(first_name, '')), id);
  `,
}
