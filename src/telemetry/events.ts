import type { Log } from './log.ts'

type RunRef = { readonly runId: string; readonly connection: string }
type BatchRef = RunRef & { readonly job: string; readonly batch: number }

/** The fields of each event: IDs, keys and counts. People appear by key; secrets and personal values never do. */
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
  'statement.differs': RunRef & { readonly reason: string; readonly people: number }
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
  'departure.stated': {
    readonly connection: string
    readonly identityId: string
    readonly statement: 'stated' | 'withdrawn'
    readonly by: string
  }
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
  'scim.stored': { readonly connection: string; readonly stored: number }
  'scim.refused': {
    readonly connection: string
    readonly reason: string
    readonly sender: string
    readonly times: number
  }
  'scim.clock_behind': { readonly connection: string; readonly seconds: number }
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
  'hand_over.sent': { readonly entries: number; readonly departures: number }
  'hand_over.unsent': { readonly channel: string; readonly attempt: number; readonly reason: string }
  'weekly.unsent': { readonly channel: string; readonly attempt: number; readonly reason: string }
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
  'first_visit.unread': { readonly source: string; readonly code: string; readonly reason: string }
  'schedule.missed': { readonly connection: string; readonly slot: string }
  unexpected: { readonly during: string; readonly error: unknown }
}

type EventName = keyof EventFields

/** An event as listeners get it, tagged by `event`. The log line holds the same fields and a message. */
export type Event = { readonly [N in EventName]: { readonly event: N } & EventFields[N] }[EventName]

/** The events of a process: one function for each. */
export type Events = ReturnType<typeof createEvents>

/** One function for each event. Each writes a line to `log` and calls `onEvent`. */
export function createEvents(log: Log, onEvent: (event: Event) => void = () => {}) {
  function define<N extends EventName>(level: keyof Log, name: N, message: string) {
    return (fields: EventFields[N]): void => {
      // The compiler does not see that name and fields belong together for every N.
      const event = { event: name, ...fields } as Event
      log[level](event, message)
      onEvent(event)
    }
  }

  return {
    runRequested: define('info', 'run.requested', 'run requested'),
    runStarted: define('info', 'run.started', 'run started reading its source'),
    runRead: define('debug', 'run.read', 'run read a part of its source'),
    runFullRead: define('info', 'run.full_read', 'run reads every row of its export'),
    runPlanned: define('info', 'run.planned', 'run planned'),
    runPrepared: define('debug', 'run.prepared', 'plan stored'),
    runCommitted: define('debug', 'run.committed', 'plan accepted'),
    runUnchanged: define('info', 'run.unchanged', 'run found nothing to change'),
    runHeld: define('warn', 'run.held', 'run held for an operator'),
    runApproved: define('info', 'run.approved', 'held run approved'),
    runRejected: define('info', 'run.rejected', 'held run rejected'),
    runFinished: define('info', 'run.finished', 'run finished'),
    runFailed: define('warn', 'run.failed', 'run failed'),
    statementDiffers: define('warn', 'statement.differs', 'population statement does not add up'),
    deliveriesEnqueued: define('debug', 'deliveries.enqueued', 'batches enqueued'),
    deliverySent: define('info', 'delivery.sent', 'batch delivered'),
    deliveryFailed: define('warn', 'delivery.failed', 'batch could not be delivered'),
    deliveryPostponed: define('info', 'delivery.postponed', 'batch waits for the platform'),
    requestBegun: define('debug', 'request.begun', 'request begun'),
    requestEnded: define('debug', 'request.ended', 'request ended'),
    requestAnswered: define('debug', 'request.answered', 'platform answered'),
    stepStored: define('debug', 'step.stored', 'step of a correction stored'),
    outcomesRecorded: define('debug', 'outcomes.recorded', 'outcomes recorded'),
    personRefused: define('warn', 'person.refused', 'platform refused a person'),
    personUndelivered: define(
      'warn',
      'person.undelivered',
      'platform fails on a person, who is tried again every hour',
    ),
    personRestored: define('info', 'person.restored', 'retraction undone'),
    connectionBlocked: define('warn', 'connection.blocked', 'connection blocked until an operator helps'),
    connectionRecovered: define('info', 'connection.recovered', 'connection works again'),
    connectionUnblocked: define('info', 'connection.unblocked', 'block lifted by an operator'),
    connectionPaused: define('info', 'connection.paused', 'connection paused by an operator'),
    connectionResumed: define('info', 'connection.resumed', 'pause ended by an operator'),
    departureHeldBack: define('info', 'departure.held_back', 'departures of a person are held back, or no longer'),
    departureStated: define('info', 'departure.stated', 'an operator stated or withdrew a departure'),
    keysDecided: define('info', 'keys.decided', 'an operator decided whether keys name one person or two'),
    valueClassified: define('info', 'value.classified', 'a value was classified by an operator'),
    sourceNotArchived: define('warn', 'source.not_archived', 'export could not be moved or deleted after its run'),
    sourceWatchFailed: define('warn', 'source.watch_failed', 'folder cannot be watched'),
    webhookStored: define('debug', 'webhook.stored', 'events stored'),
    webhookRefused: define('warn', 'webhook.refused', 'event refused'),
    scimStored: define('debug', 'scim.stored', 'changes stored'),
    scimRefused: define('warn', 'scim.refused', 'change refused'),
    scimClockBehind: define('warn', 'scim.clock_behind', 'the clock is behind; changes are dated after the newest one'),
    controlRefused: define('warn', 'control.refused', 'request to the control API refused'),
    webhookFailed: define('warn', 'webhook.failed', 'events could not be stored'),
    alertRaised: define('warn', 'alert.raised', 'something needs an operator'),
    alertCleared: define('info', 'alert.cleared', 'alert is over'),
    alertUnsent: define('warn', 'alert.unsent', 'alert could not be sent'),
    handOverSent: define('info', 'hand_over.sent', 'HR was mailed what it has to correct'),
    handOverUnsent: define('warn', 'hand_over.unsent', 'mail to HR could not be sent'),
    weeklyUnsent: define('warn', 'weekly.unsent', 'the weekly summary could not be sent'),
    enqueueFailed: define('warn', 'enqueue.failed', 'jobs could not be enqueued; the next sweep enqueues them'),
    sweepEnqueued: define('debug', 'sweep.enqueued', 'due work enqueued'),
    jobFinished: define('debug', 'job.finished', 'job finished'),
    jobPostponed: define('debug', 'job.postponed', 'job postponed'),
    jobReturned: define('info', 'job.returned', 'job handed back unfinished'),
    jobFailed: define('warn', 'job.failed', 'job failed'),
    queueAppendOnlyOff: define('warn', 'queue.append_only_off', 'Redis keeps no append-only file: a crash loses jobs'),
    queuePolicyUnknown: define('warn', 'queue.policy_unknown', 'Redis does not tell whether it evicts keys'),
    queueUnreachable: define('warn', 'queue.unreachable', 'queue unreachable, connecting again'),
    queueReachable: define('info', 'queue.reachable', 'queue reachable again'),
    queueLostJob: define('warn', 'queue.lost_job', 'queue lost a job that was being worked on; it is enqueued again'),
    storeUnreachable: define('warn', 'store.unreachable', 'store does not do its work, trying again'),
    platformReadable: define(
      'warn',
      'platform.readable',
      'what is sent to the platform can be read and changed on the way: write https:// in platform.baseUrl',
    ),
    settingOutdated: define('warn', 'setting.outdated', 'a setting is outdated, and the next release refuses it'),
    accessOpened: define('info', 'access.opened', 'control API and console are served to those who sign in'),
    accessImpossible: define(
      'warn',
      'access.impossible',
      'nobody can sign in yet: other machines reach only webhooks and probes until "rollcall token create" makes a token',
    ),
    accessReadable: define(
      'warn',
      'access.readable',
      'tokens and pages can be read on the way: put a proxy with HTTPS in front, and name it as server.publicUrl',
    ),
    daemonStarted: define('info', 'daemon.started', 'daemon started'),
    tracesUnsent: define('warn', 'traces.unsent', 'the collector of traces takes none; what it misses is dropped'),
    tracesSent: define('info', 'traces.sent', 'the collector takes traces again'),
    connectionAwaited: define(
      'warn',
      'connection.awaited',
      'the configuration has no connection yet, so nothing is read: sign in to the console as an admin and upload an export, or run "rollcall init"',
    ),
    configReloaded: define('info', 'config.reloaded', 'the configuration was read again and is in effect'),
    configRefused: define(
      'error',
      'config.refused',
      'the configuration was read again and refused; the previous one stays in effect',
    ),
    settingsDiffer: define('warn', 'settings.differ', 'processes of this store work by different settings'),
    settingsAgree: define('info', 'settings.agree', 'processes of this store work by the same settings again'),
    daemonWaiting: define('warn', 'daemon.waiting', 'daemon waits for its database or its queue to start'),
    daemonStopping: define('info', 'daemon.stopping', 'daemon stopping'),
    daemonCutOff: define('warn', 'daemon.cut_off', 'daemon ended before everything was closed; the next one continues'),
    daemonStopped: define('info', 'daemon.stopped', 'daemon stopped'),
    firstReadingFailed: define('warn', 'first_visit.unread', 'a list for the first connection could not be read'),
    scheduleMissed: define('warn', 'schedule.missed', 'scheduled run did not start on time and starts now'),
    inDoubtVerified: define('info', 'in_doubt.verified', 'people in doubt verified on the platform'),
    storeMarked: define('warn', 'store.marked', 'the data folder did not name its store; it names this one now'),
    storeRestored: define('warn', 'store.restored', 'the store was restored from a backup'),
    valuesRemoved: define('info', 'values.removed', 'expired values removed'),
    auditSigned: define('info', 'audit.signed', 'audit trail signed'),
    auditUnsigned: define('error', 'audit.unsigned', 'audit trail cannot be signed'),
    unexpected: define('error', 'unexpected', 'unexpected error'),
  }
}

/** Events that are not logged, for tests and tools that listen to them. */
export function silentEvents(onEvent?: (event: Event) => void): Events {
  const ignore = (): void => {}
  return createEvents({ error: ignore, warn: ignore, info: ignore, debug: ignore }, onEvent)
}
