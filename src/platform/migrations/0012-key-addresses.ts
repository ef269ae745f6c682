import type { Migration } from '../../database/database.ts'

/** From where a key may be used: IPv4 and IPv6 addresses and networks in CIDR notation; none: from everywhere. */
export const keyAddresses: Migration = {
  name: '0012-key-addresses',
  sql: `
    alter table api_keys add column allowed_addresses text[] not null default '{}';
  `,
}
