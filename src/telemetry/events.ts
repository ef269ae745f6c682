import type { Log } from './log.ts'

type RunRef = { readonly runId: string; readonly connection: string }
type BatchRef = RunRef & { readonly job: string; readonly batch: number }

/** What each event tells. Ids, keys and counts only: people appear by key, secrets and personal values never. */
type EventFields = {
  'run.requested': RunRef & { readonly trigger: string }
  'run.started': RunRef & { readonly trigger: string }
  'run.read': RunRef & { readonly rows: number; readonly rejected: number }
  'run.full_read': RunRef & { readonly reason: string }
  'run.planned': RunRef & { readonly counts: Readonly<Record<string, number>>; readonly batches: number }
  'run.prepared': RunRef
  'run.committed': RunRef & { readonly batches: number }
  'run.unchanged': RunRef & { readonly people: number }
  'run.held': RunRef & { readonly reason: string }
  'run.approved': RunRef & { readonly by: string; readonly digest: string }
  'run.rejected': RunRef & { readonly by: string }
  'run.finished': RunRef & { readonly confirmed: number; readonly problems: number; readonly durationMs: number }
  'run.failed': RunRef & { readonly code: string; readonly reason: string }
  'deliveries.enqueued': RunRef & { readonly jobs: number }
  'delivery.sent': BatchRef & { readonly people: number; readonly confirmed: number; readonly problems: number }
  'delivery.failed': BatchRef & { readonly status: string; readonly reason: string }
  'delivery.postponed': BatchRef & { readonly delayMs: number; readonly reason: string }
  'request.begun': BatchRef & { readonly people: number }
  'request.ended': BatchRef & { readonly status: string }
  'request.answered': {
    readonly operation: string
    readonly method: string
    readonly outcome: string
    readonly status: number
    readonly durationMs: number
  }
  'step.stored': BatchRef & { readonly step: string; readonly people: number }
  'outcomes.recorded': BatchRef & { readonly people: number }
  'person.refused': RunRef & { readonly identityId: string; readonly status: number }
  'person.undelivered': RunRef & { readonly identityId: string; readonly status: number }
  'person.restored': { readonly connection: string; readonly identityId: string; readonly by: string }
  'connection.blocked': { readonly connection: string; readonly status: string; readonly reason: string }
  'connection.recovered': { readonly connection: string }
  'connection.unblocked': { readonly connection: string; readonly by: string }
  'connection.paused': { readonly connection: string; readonly by: string; readonly until: string | null }
  'connection.resumed': { readonly connection: string; readonly by: string }
  'departure.held_back': {
    readonly connection: string
    readonly identityId: string
    readonly until: string | null
    readonly by: string
  }
  'keys.decided': {
    readonly connection: string
    readonly keys: number
    readonly answer: 'one person' | 'two people' | 'withdrawn'
    readonly by: string
  }
  'value.classified': {
    readonly connection: string
    readonly field: string
    readonly meaning: string
    readonly by: string
  }
  'source.not_archived': { readonly connection: string; readonly source: string; readonly reason: string }
  'source.watch_failed': { readonly connection: string; readonly reason: string }
  'webhook.stored': { readonly connection: string; readonly stored: number; readonly duplicates: number }
  'webhook.refused': {
    readonly connection: string
    readonly reason: string
    readonly sender: string
    readonly times: number
  }
  'control.refused': { readonly reason: string; readonly sender: string; readonly times: number }
  'webhook.failed': { readonly connection: string; readonly reason: string }
  'alert.raised': {
    readonly alertId: string
    readonly connection: string
    readonly kind: string
    readonly code: string | null
    readonly reason: string
    readonly since: string
    readonly people: number | null
    readonly leavers: number | null
    readonly runId: string | null
    readonly reminder: boolean
  }
  'alert.cleared': {
    readonly alertId: string
    readonly connection: string
    readonly kind: string
    readonly since: string
  }
  'alert.unsent': {
    readonly channel: string
    /** The first of those that the message was about. */
    readonly alertId: string
    readonly connection: string
    readonly alerts: number
    readonly attempt: number
    readonly reason: string
  }
  'enqueue.failed': { readonly jobs: number; readonly reason: string }
  'sweep.enqueued': { readonly jobs: number }
  'job.finished': { readonly job: string; readonly id: string; readonly durationMs: number }
  'job.postponed': { readonly job: string; readonly id: string; readonly delayMs: number }
  'job.returned': { readonly job: string; readonly id: string }
  'job.failed': {
    readonly job: string
    readonly id: string
    readonly attempt: number
    readonly final: boolean
    readonly code: string
    readonly reason: string
  }
  'queue.append_only_off': { readonly place: string }
  'queue.policy_unknown': { readonly place: string }
  'queue.unreachable': { readonly place: string; readonly code: string }
  'queue.reachable': { readonly place: string }
  'queue.lost_job': { readonly place: string }
  'audit.signed': { readonly entries: number; readonly ordinal: number; readonly hash: string }
  'audit.unsigned': { readonly reason: string }
  'in_doubt.verified': { readonly connection: string; readonly people: number; readonly differing: number }
  'store.marked': { readonly place: string }
  'store.restored': { readonly madeAt: string; readonly people: number; readonly by: string }
  'values.removed': { readonly runs: number; readonly values: number; readonly events: number }
  'store.unreachable': { readonly during: string; readonly reason: string; readonly times: number }
  'platform.readable': { readonly address: string }
  'setting.outdated': { readonly setting: string }
  'access.opened': { readonly address: string; readonly signIn: string }
  'access.impossible': { readonly address: string }
  'access.readable': { readonly address: string }
  'connection.awaited': { readonly address: string; readonly configuration: string }
  'daemon.started': { readonly address: string; readonly connections: number; readonly roles: readonly string[] }
  'traces.unsent': { readonly collector: string; readonly reason: string }
  'traces.sent': { readonly collector: string }
  'config.reloaded': { readonly connections: number }
  'config.refused': { readonly reason: string }
  'settings.differ': { readonly settings: readonly string[]; readonly processes: readonly string[] }
  'settings.agree': { readonly processes: number }
  'daemon.waiting': { readonly reason: string; readonly seconds: number }
  'daemon.stopping': { readonly reason: string }
  'daemon.cut_off': { readonly seconds: number }
  'daemon.stopped': { readonly durationMs: number }
  'schedule.missed': { readonly connection: string; readonly slot: string }
  unexpected: { readonly during: string; readonly error: unknown }
}

type EventName = keyof EventFields

/** One event as a listener gets it, told apart by `event`: what the log line holds besides its message. */
export type Event = { readonly [N in EventName]: { readonly event: N } & EventFields[N] }[EventName]

export type Events = ReturnType<typeof createEvents>

/** One function for each event. Each writes a line to `log` and calls `onEvent`, which a progress bar listens to. */
export function createEvents(log: Log, onEvent: (event: Event) => void = () => {}) {
  function tells<N extends EventName>(level: keyof Log, name: N, message: string) {
    return (fields: EventFields[N]): void => {
      // The compiler does not see that name and fields belong together for every N.
      const event = { event: name, ...fields } as Event
      log[level](event, message)
      onEvent(event)
    }
  }

  return {
    runRequested: tells('info', 'run.requested', 'run requested'),
    runStarted: tells('info', 'run.started', 'run started reading its source'),
    runRead: tells('debug', 'run.read', 'run read a part of its source'),
    runFullRead: tells('info', 'run.full_read', 'run reads every row of its export'),
    runPlanned: tells('info', 'run.planned', 'run planned'),
    runPrepared: tells('debug', 'run.prepared', 'plan stored'),
    runCommitted: tells('debug', 'run.committed', 'plan accepted'),
    runUnchanged: tells('info', 'run.unchanged', 'run found nothing to change'),
    runHeld: tells('warn', 'run.held', 'run held for an operator'),
    runApproved: tells('info', 'run.approved', 'held run approved'),
    runRejected: tells('info', 'run.rejected', 'held run rejected'),
    runFinished: tells('info', 'run.finished', 'run finished'),
    runFailed: tells('warn', 'run.failed', 'run failed'),
    deliveriesEnqueued: tells('debug', 'deliveries.enqueued', 'batches enqueued'),
    deliverySent: tells('info', 'delivery.sent', 'batch delivered'),
    deliveryFailed: tells('warn', 'delivery.failed', 'batch could not be delivered'),
    deliveryPostponed: tells('info', 'delivery.postponed', 'batch waits for the platform'),
    requestBegun: tells('debug', 'request.begun', 'request begun'),
    requestEnded: tells('debug', 'request.ended', 'request ended'),
    requestAnswered: tells('debug', 'request.answered', 'platform answered'),
    stepStored: tells('debug', 'step.stored', 'step of a correction stored'),
    outcomesRecorded: tells('debug', 'outcomes.recorded', 'outcomes recorded'),
    personRefused: tells('warn', 'person.refused', 'platform refused a person'),
    personUndelivered: tells('warn', 'person.undelivered', 'platform fails on a person, who is tried again every hour'),
    personRestored: tells('info', 'person.restored', 'retraction taken back'),
    connectionBlocked: tells('warn', 'connection.blocked', 'connection blocked until an operator helps'),
    connectionRecovered: tells('info', 'connection.recovered', 'connection works again'),
    connectionUnblocked: tells('info', 'connection.unblocked', 'block lifted by an operator'),
    connectionPaused: tells('info', 'connection.paused', 'connection paused by an operator'),
    connectionResumed: tells('info', 'connection.resumed', 'pause ended by an operator'),
    departureHeldBack: tells(
      'info',
      'departure.held_back',
      'an operator holds leavings of a person back, or no longer',
    ),
    keysDecided: tells('info', 'keys.decided', 'keys were said to name one person or two'),
    valueClassified: tells('info', 'value.classified', 'a value was classed by an operator'),
    sourceNotArchived: tells('warn', 'source.not_archived', 'export could not be moved or deleted after its run'),
    sourceWatchFailed: tells('warn', 'source.watch_failed', 'folder cannot be watched'),
    webhookStored: tells('debug', 'webhook.stored', 'events stored'),
    webhookRefused: tells('warn', 'webhook.refused', 'event refused'),
    controlRefused: tells('warn', 'control.refused', 'request to the control API refused'),
    webhookFailed: tells('warn', 'webhook.failed', 'events could not be stored'),
    alertRaised: tells('warn', 'alert.raised', 'something needs an operator'),
    alertCleared: tells('info', 'alert.cleared', 'what needed an operator is over'),
    alertUnsent: tells('warn', 'alert.unsent', 'alert could not be sent'),
    enqueueFailed: tells('warn', 'enqueue.failed', 'queue was not told; the next sweep tells it'),
    sweepEnqueued: tells('debug', 'sweep.enqueued', 'due work enqueued'),
    jobFinished: tells('debug', 'job.finished', 'job finished'),
    jobPostponed: tells('debug', 'job.postponed', 'job postponed'),
    jobReturned: tells('info', 'job.returned', 'job handed back unfinished'),
    jobFailed: tells('warn', 'job.failed', 'job failed'),
    queueAppendOnlyOff: tells('warn', 'queue.append_only_off', 'Redis keeps no append-only file: a crash loses jobs'),
    queuePolicyUnknown: tells('warn', 'queue.policy_unknown', 'Redis does not tell whether it evicts keys'),
    queueUnreachable: tells('warn', 'queue.unreachable', 'queue unreachable, connecting again'),
    queueReachable: tells('info', 'queue.reachable', 'queue reachable again'),
    queueLostJob: tells('warn', 'queue.lost_job', 'queue lost a job that was being worked on; it is enqueued again'),
    storeUnreachable: tells('warn', 'store.unreachable', 'store does not do its work, trying again'),
    platformReadable: tells(
      'warn',
      'platform.readable',
      'what is sent to the platform can be read and changed on the way: write https:// in platform.baseUrl',
    ),
    settingOutdated: tells('warn', 'setting.outdated', 'a setting is outdated, and the next release refuses it'),
    accessOpened: tells('info', 'access.opened', 'control API and console are served to those who sign in'),
    accessImpossible: tells(
      'warn',
      'access.impossible',
      'no one can sign in yet: other machines reach webhooks and probes alone until "rollcall token create" makes a token',
    ),
    accessReadable: tells(
      'warn',
      'access.readable',
      'tokens and pages can be read on the way: put a proxy with HTTPS in front, and name it as server.publicUrl',
    ),
    daemonStarted: tells('info', 'daemon.started', 'daemon started'),
    tracesUnsent: tells('warn', 'traces.unsent', 'the collector of traces takes none; what it misses is dropped'),
    tracesSent: tells('info', 'traces.sent', 'the collector takes traces again'),
    connectionAwaited: tells(
      'warn',
      'connection.awaited',
      'the configuration has no connection yet, so nothing is read: sign in to the console as an admin and upload an export, or say "rollcall init"',
    ),
    configReloaded: tells('info', 'config.reloaded', 'the configuration was read again and is in effect'),
    configRefused: tells(
      'error',
      'config.refused',
      'the configuration was read again and refused; the former one stays',
    ),
    settingsDiffer: tells('warn', 'settings.differ', 'processes of this store work by different settings'),
    settingsAgree: tells('info', 'settings.agree', 'processes of this store work by the same settings again'),
    daemonWaiting: tells('warn', 'daemon.waiting', 'daemon waits for its database or its queue to start'),
    daemonStopping: tells('info', 'daemon.stopping', 'daemon stopping'),
    daemonCutOff: tells('warn', 'daemon.cut_off', 'daemon ended before everything was closed; the next one goes on'),
    daemonStopped: tells('info', 'daemon.stopped', 'daemon stopped'),
    scheduleMissed: tells('warn', 'schedule.missed', 'scheduled run did not begin at its time, caught up now'),
    inDoubtVerified: tells('info', 'in_doubt.verified', 'people in doubt read back'),
    storeMarked: tells(
      'warn',
      'store.marked',
      'the data folder did not say to which store it belongs; it belongs to this one now',
    ),
    storeRestored: tells('warn', 'store.restored', 'the store was put back from a backup'),
    valuesRemoved: tells('info', 'values.removed', 'values removed whose time is over'),
    auditSigned: tells('info', 'audit.signed', 'audit trail signed'),
    auditUnsigned: tells('error', 'audit.unsigned', 'audit trail cannot be signed'),
    unexpected: tells('error', 'unexpected', 'unexpected error'),
  }
}

/** Events that are not logged. A test listens for those that it waits for. */
export function silentEvents(onEvent?: (event: Event) => void): Events {
  const ignore = (): void => {}
  return createEvents({ error: ignore, warn: ignore, info: ignore, debug: ignore }, onEvent)
}
