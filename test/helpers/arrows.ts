/** What each area of src/ may import of ours, besides itself. The platform and the daemon's side meet over HTTP only. */
export const areas: Readonly<Record<string, readonly string[]>> = {
  text: [],
  'errors.ts': ['text'],
  'version.ts': [],
  'main.ts': ['cli', 'errors.ts', 'text'],
  contract: [],
  web: ['text'],
  identity: [],
  telemetry: ['errors.ts', 'text'],
  system: ['errors.ts'],
  http: ['contract', 'system', 'errors.ts', 'telemetry', 'text'],
  database: ['system', 'errors.ts', 'telemetry'],
  platform: ['contract', 'http', 'database', 'system', 'web', 'errors.ts', 'telemetry', 'text', 'version.ts'],
  connectors: ['identity', 'system', 'errors.ts', 'telemetry', 'text'],
  store: ['identity', 'contract', 'database', 'errors.ts', 'telemetry'],
  queue: ['database', 'errors.ts', 'telemetry'],
  sync: ['identity', 'connectors', 'store', 'contract', 'http', 'queue', 'database', 'errors.ts', 'telemetry'],
  daemon: [
    ...['identity', 'connectors', 'store', 'sync', 'queue', 'database'],
    ...['contract', 'http', 'system', 'web', 'errors.ts', 'telemetry', 'text', 'version.ts'],
  ],
  cli: ['contract', 'http', 'daemon', 'platform', 'errors.ts', 'telemetry', 'text', 'version.ts'],
}

/** The files of an area that lie in none of its rooms. */
export const top = '(top)'

/**
 * Inside an area, what each of its rooms may import of the others: a whole room, or single files of it, which then are its public
 * ones. An area that is not listed has no rooms.
 */
export const rooms: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  contract: {
    [top]: [],
    platform: [top],
    control: [top],
  },
  http: {
    [top]: ['server/refusal.ts'],
    client: [top, 'server/mount.ts'],
    server: [top],
  },
  identity: {
    [top]: ['guards'],
    guards: [top],
    mapping: [top],
    lint: [top, 'mapping'],
  },
  connectors: {
    [top]: [],
    file: [top],
    csv: [top, 'file'],
    json: [top, 'file'],
    expressions: [top, 'file'],
    folder: [top, 'file', 'csv'],
    sftp: [top, 'file', 'csv'],
    http: [top, 'file', 'csv', 'json'],
    webhook: [top, 'json'],
  },
  store: {
    [top]: ['workers'],
    migrations: [],
    workers: [top],
    roster: [top, 'audit/key.ts'],
    inbox: [top],
    rejects: [top],
    alerts: [top, 'rejects', 'leavers'],
    leavers: [top, 'roster'],
    runs: [top, 'workers'],
    deliveries: [top, 'runs', 'workers', 'leavers', 'audit/trail.ts'],
    plans: [top, 'runs', 'deliveries', 'inbox', 'rejects', 'roster', 'audit/trail.ts'],
    audit: [top, 'plans', 'roster', 'inbox'],
    retention: [top, 'audit/trail.ts', 'runs', 'roster'],
    backup: [top, 'migrations', 'runs', 'plans', 'inbox', 'workers', 'audit/trail.ts', 'audit/chain.ts'],
  },
  sync: {
    [top]: ['plan', 'deliver', 'repair'],
    plan: [top],
    deliver: [top, 'plan/stage.ts', 'repair/uncertain.ts'],
    repair: [top, 'plan/stage.ts', 'deliver'],
  },
  daemon: {
    [top]: ['config', 'control', 'webhooks', 'alerts', 'schedules', 'audit', 'installation'],
    installation: ['config', 'audit'],
    audit: ['config', 'repeat.ts'],
    reports: [],
    config: ['alerts/channel.ts'],
    control: [
      ...['config/secret.ts', 'config/config.ts', 'alerts', 'schedules/schedules.ts', 'audit/keeper.ts'],
      ...['reports/leavers-pack.ts', 'installation'],
    ],
    webhooks: ['config/config.ts'],
    alerts: ['config/secret.ts', 'repeat.ts', 'schedules/schedules.ts'],
    schedules: [],
  },
  cli: {
    [top]: ['commands', 'render', 'demo/demo.ts'],
    commands: [top, 'render'],
    render: [],
    demo: [top, 'render'],
  },
  platform: {
    [top]: [
      ...['core', 'events', 'accounts', 'company', 'connections', 'identities', 'identity-sync', 'records', 'people'],
      ...['inventory', 'controls', 'audits', 'seed', 'operators', 'page'],
    ],
    migrations: [],
    core: ['migrations'],
    events: ['core'],
    accounts: ['core', 'events'],
    company: ['core', 'events'],
    connections: ['core', 'events'],
    'identity-sync': ['core', 'events'],
    identities: ['core', 'events', 'connections/access.ts'],
    records: ['core', 'events', 'connections/access.ts'],
    people: [...['core', 'events', 'company/custom-fields.ts', 'identities/rows.ts'], 'identity-sync/identity-sync.ts'],
    inventory: ['core', 'events', 'company/custom-fields.ts', 'people/personnel.ts', 'people/users.ts'],
    controls: ['core', 'events', 'company/custom-fields.ts', 'company/workspaces.ts'],
    audits: ['core', 'events', 'company/workspaces.ts'],
    export: ['core'],
    seed: ['core', 'events', 'accounts', 'audits', 'controls'],
    operators: ['core', 'accounts', 'audits', 'identity-sync', 'seed', 'export', 'serve.ts'],
    page: ['core', 'identity-sync', 'people', 'operators/sessions.ts'],
  },
}
