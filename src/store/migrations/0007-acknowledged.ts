import type { Migration } from '../../database/database.ts'

export const acknowledged: Migration = {
  name: '0007-acknowledged',
  sql: `
-- What the platform acknowledged last of people who then were to become something else. A batch that is taken whole says so once,
-- so that a row whose run sent such a batch counts no longer, and is removed later.
alter table behind rename to acknowledged;
alter table acknowledged add column run_id uuid;

-- Whoever the platform does not have as HR wants them.
create view behind as
select connection, identity_id, confirmed from acknowledged
where not exists (
  select 1 from changes join deliveries using (run_id, batch)
  where changes.run_id = acknowledged.run_id and changes.identity_id = acknowledged.identity_id
    and changes.state in ('due', 'confirmed') and deliveries.answer is not null);

-- A record is sent as it is stored; only its leaving date is looked at.
alter table changes alter column record type json using record::json, add column separated_at text;
update changes set separated_at = record ->> 'separatedAt' where state in ('planned', 'due');
`,
}
