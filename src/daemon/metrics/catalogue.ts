type Metric = {
  /** `store`: a gauge that every process reads from the store at a scrape. The others count in one process, from its start on. */
  readonly type: 'store' | 'gauge' | 'counter' | 'histogram'
  readonly help: string
  /** Names of connections and closed lists only; never a key or a value of a person. */
  readonly labels: readonly string[]
  /** The buckets of a histogram, in seconds. Default: from a quick job to a run that is delivered at 450 requests a minute. */
  readonly bounds?: readonly number[]
}

/** All metrics by name. docs/metrics.md is generated from them. */
export const catalogue = {
  rollcall_store_up: {
    type: 'gauge',
    help: '1 if the store answered at this scrape. If it is 0, metrics of the kind store are left out.',
    labels: [],
  },
  rollcall_info: { type: 'gauge', help: 'Always 1, with the version.', labels: ['version'] },
  rollcall_processes: { type: 'store', help: 'Processes that have a role.', labels: ['role'] },
  rollcall_settings_differ: {
    type: 'store',
    help: 'Processes whose settings differ from those of another process.',
    labels: [],
  },
  rollcall_people: {
    type: 'store',
    help: 'People, in states that overlap: desired (everybody in the data of HR), separated (who left), undelivered (with changes still to send, which is normal; those whose delivery fails are in rollcall_problems).',
    labels: ['connection', 'state'],
  },
  rollcall_runs: { type: 'store', help: 'Runs that the store keeps, by state.', labels: ['connection', 'state'] },
  rollcall_last_run_timestamp_seconds: {
    type: 'store',
    help: 'When the newest run in this state ended.',
    labels: ['connection', 'state'],
  },
  rollcall_next_run_timestamp_seconds: {
    type: 'store',
    help: 'When the schedule starts the next run. Left out while the connection is paused.',
    labels: ['connection', 'purpose'],
  },
  rollcall_paused: { type: 'store', help: '1 while a connection is paused.', labels: ['connection'] },
  rollcall_blocked: { type: 'store', help: '1 while a connection is blocked.', labels: ['connection'] },
  rollcall_problems: {
    type: 'store',
    help: 'People the platform refused (refused), or whose delivery has been failing for 15 minutes or is blocked (undelivered). who: all, or leavers (counted in all too).',
    labels: ['connection', 'state', 'who'],
  },
  rollcall_blocked_people: {
    type: 'store',
    help: 'People who need attention: what HR states of them cannot be sent. Unlike with rollcall_blocked, the connection works. who: all, or leavers (counted in all too).',
    labels: ['connection', 'who'],
  },
  rollcall_unserved_people: {
    type: 'store',
    help: 'Deprecated; will be removed after 0.1. The same as rollcall_blocked_people.',
    labels: ['connection', 'who'],
  },
  rollcall_in_doubt_people: {
    type: 'store',
    help: 'People in doubt: a request about them was given up and may still arrive. who: all, or leavers (counted in all too).',
    labels: ['connection', 'who'],
  },
  rollcall_leavers_open: {
    type: 'store',
    help: 'Departures whose last day is over, and that the platform has not acknowledged.',
    labels: ['connection'],
  },
  rollcall_leavers_late: {
    type: 'store',
    help: 'Departures whose last day is over, and that the platform has not acknowledged within leavers.boundHours.',
    labels: ['connection'],
  },
  rollcall_leaver_oldest_open_seconds: {
    type: 'store',
    help: 'For how long the oldest departure in rollcall_leavers_open has waited. 0 if there is none.',
    labels: ['connection'],
  },
  rollcall_effective_people: {
    type: 'store',
    help: 'Delivered people whom Rollcall compared with the personnel of the platform (compared), and those of them without a finding (effective). For a directory: its accounts. See docs/effective.md.',
    labels: ['connection', 'state'],
  },
  rollcall_effective_findings: {
    type: 'store',
    help: "People whose status on the platform does not match HR's data, and accounts of a directory that do not match it, by cause.",
    labels: ['connection', 'cause'],
  },
  rollcall_effective_compared_timestamp_seconds: {
    type: 'store',
    help: 'When everybody was last compared with the platform, or the accounts of a directory with HR.',
    labels: ['connection'],
  },
  rollcall_source_read_timestamp_seconds: {
    type: 'store',
    help: 'Start time of the newest run that read its whole source and did not fail.',
    labels: ['connection'],
  },
  rollcall_source_as_of_timestamp_seconds: {
    type: 'store',
    help: 'The as-of time of the newest accepted export.',
    labels: ['connection'],
  },
  rollcall_events_waiting: {
    type: 'store',
    help: 'Webhook events: pending, held (they wait for a decision about a held run), rejected.',
    labels: ['connection', 'state'],
  },
  rollcall_alerts_open: { type: 'store', help: 'Open alerts.', labels: ['connection', 'kind'] },
  rollcall_queue_waiting_jobs: { type: 'store', help: 'Jobs that wait for a worker.', labels: [] },
  rollcall_request_budget_remaining: {
    type: 'store',
    help: 'Requests to the platform that all processes together may still send in the current window.',
    labels: [],
  },
  rollcall_platform_failing_seconds: {
    type: 'store',
    help: 'For how long every request to the platform, of any process, has failed. 0 if the newest one was answered.',
    labels: [],
  },
  rollcall_circuit_open: {
    type: 'gauge',
    help: '1 while this process sends nothing, because several requests in a row failed.',
    labels: [],
  },
  rollcall_audit_unsigned: {
    type: 'gauge',
    help: '1 while this process cannot sign the audit trail.',
    labels: [],
  },
  rollcall_runs_total: {
    type: 'counter',
    help: 'Runs by outcome: finished (also with problems), unchanged, held, failed. A held run that is approved counts twice: held, then finished. Rejected, cancelled and superseded runs are not counted.',
    labels: ['connection', 'outcome'],
  },
  rollcall_run_duration_seconds: {
    type: 'histogram',
    help: 'Duration of delivered runs, from their start to the last response of the platform. It includes the time in which a run was held.',
    labels: ['connection'],
  },
  rollcall_changes_planned_total: {
    type: 'counter',
    help: 'Planned changes, by kind.',
    labels: ['connection', 'kind'],
  },
  rollcall_rows_rejected_total: {
    type: 'counter',
    help: 'Rows that cannot be used.',
    labels: ['connection'],
  },
  rollcall_people_delivered_total: {
    type: 'counter',
    help: 'People of delivered batches: confirmed or refused by the platform.',
    labels: ['connection', 'outcome'],
  },
  rollcall_delivery_failures_total: {
    type: 'counter',
    help: 'Attempts to deliver a batch that failed.',
    labels: ['connection'],
  },
  rollcall_delivery_retries_total: {
    type: 'counter',
    help: 'Batches that were postponed, to be tried again.',
    labels: ['connection'],
  },
  rollcall_jobs_total: {
    type: 'counter',
    help: 'Attempts at jobs by outcome: finished, postponed, returned (unfinished, as the process stops), retried, failed.',
    labels: ['task', 'outcome'],
  },
  rollcall_job_duration_seconds: { type: 'histogram', help: 'Duration of finished jobs.', labels: ['task'] },
  rollcall_request_duration_seconds: {
    type: 'histogram',
    help: 'Duration of single requests to the platform, to the last byte of the response. By outcome: taken (2xx), refused, limited (429), failing (5xx), unreadable, unreachable.',
    labels: ['operation', 'outcome'],
    bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  rollcall_webhook_events_total: {
    type: 'counter',
    help: 'Events of webhooks and SCIM: stored, duplicate, refused (the request), failed (the store did not answer).',
    labels: ['connection', 'outcome'],
  },
  rollcall_control_refused_total: {
    type: 'counter',
    help: 'Requests to the control API without a valid token.',
    labels: [],
  },
  rollcall_store_unreachable_total: {
    type: 'counter',
    help: 'How often this process noticed that the store is unreachable, read-only or full.',
    labels: [],
  },
} as const satisfies Readonly<Record<string, Metric>>

/** The name of a metric. */
export type MetricName = keyof typeof catalogue
