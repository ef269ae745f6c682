import type { Migration } from '../../database/database.ts'

/** Background checks by hand. */
export const people: Migration = {
  name: '0010-people',
  sql: `
    create table background_checks (
      id bigint generated always as identity primary key,
      user_id bigint not null references users on delete cascade,
      filed_on date not null,
      url text not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    );
    create unique index background_checks_report on background_checks (user_id, filed_on, md5(url));
  `,
}
