/**
 * What a delivery does about an answer:
 * `problem`: that person is refused and is added to the list of problems; the others are delivered.
 * `split`: the batch is sent again in halves, until the people that the platform refuses are alone.
 * `correct`: the stored leaving date is cleared, and then set in a second request.
 * `read_back`: what the platform has of these people is read before anything is sent again.
 * `upsert`: the whole record of the person is sent through the batch operation.
 * `wait`: nothing is sent until the time is over; it does not count as a failure.
 * `retry`: the batch stays due and is tried again, later each time, up to once an hour, without end.
 * `block`: nothing of the connection is sent until a probe passes.
 */
export type DeliveryAction = 'problem' | 'split' | 'correct' | 'read_back' | 'upsert' | 'wait' | 'retry' | 'block'

/** A failure of a delivery: what Rollcall does, and what an operator can do. */
export type DeliveryFailure = {
  readonly action: DeliveryAction
  /** What the platform did. */
  readonly when: string
  /** What follows. */
  readonly follows: string
  /** What an operator can do about it; null if there is nothing to do. */
  readonly helps: string | null
  /** The platform may have applied the request: it is not known what it holds. */
  readonly uncertain: boolean
}

/** Consequences that several failures share, in the words of `follows`. docs/deliveries.md states each once. */
export const sharedConsequences = {
  again: 'The batch stays due and is tried again, with pauses that grow to an hour. No person is given up.',
  apart:
    'If the platform fails on a single person, the others of the batch are sent. After 15 minutes the run ends without that person, who is tried again every hour.',
} as const
const repeated = sharedConsequences.again
const repeatedApart = `${repeated} ${sharedConsequences.apart}`
const blocked = 'Nothing of the connection is sent, except one probe every 15 minutes. Other connections continue.'
/** What helps while the platform itself fails. */
export const platformIsFailing = 'Nothing has to be done here; see the status page of the platform.'

/** Every answer that is not simply a success, by its code: the one place that says what a delivery does about it. */
export const deliveryFailures = {
  item_refused: {
    action: 'problem',
    when: 'one item of a batch is answered with a status of 400 to 499',
    follows: 'That person becomes a problem, with the message of the platform. It is tried again in every later run.',
    helps: 'Have HR correct the record, or approve what the message asks for.',
    uncertain: false,
  },
  item_failed: {
    action: 'retry',
    when: 'one item of a batch is answered with a status of 500 or above',
    follows:
      'That person is sent again; the others of the batch are closed. After 15 minutes the run ends without that person, who is tried again every hour.',
    helps: platformIsFailing,
    uncertain: true,
  },
  results_unmatched: {
    action: 'read_back',
    when: 'the list of results is shorter or longer than the batch, or a result names another person',
    follows: 'No result is used. The people of the batch are looked up, and those who differ are sent again.',
    helps: platformIsFailing,
    uncertain: true,
  },
  date_ignored: {
    action: 'correct',
    when: 'the platform accepts a leaving date but still holds another: it keeps the first one until it is cleared',
    follows: 'The date on the platform is cleared, then the right one is sent. The step is stored before each request.',
    helps: null,
    uncertain: false,
  },
  date_kept: {
    action: 'problem',
    when: 'the platform keeps another leaving date than the one sent, even after it was cleared',
    follows: 'That person becomes a problem. It is tried again in every later run.',
    helps: 'Look at the person on the platform. Something else writes the date.',
    uncertain: false,
  },
  batch_refused: {
    action: 'split',
    when: 'a batch is refused as a whole (400, 422 and the like)',
    follows: 'The batch is halved until the refused people are alone, with at most 100 such requests per attempt.',
    helps: null,
    uncertain: false,
  },
  batch_too_large: {
    action: 'split',
    when: 'a batch is too large for the platform (413)',
    follows: 'The batch is halved.',
    helps: 'Set delivery.batchBytes below the limit of the platform.',
    uncertain: false,
  },
  splitting_paused: {
    action: 'wait',
    when: 'an attempt has spent its requests on halving a refused batch',
    follows: 'The next attempt continues with the rest of the batch.',
    helps: 'If all people are refused, the message of the first problem says why.',
    uncertain: false,
  },
  record_misshapen: {
    action: 'problem',
    when: 'a record as a whole does not satisfy the schema of its CUSTOM connection, which is found before it is sent',
    follows: 'That record becomes a problem, with the place and the rule. It is tried again in every later run.',
    helps: 'Have HR correct the record, or map the property that it lacks.',
    uncertain: false,
  },
  session_refused: {
    action: 'problem',
    when: 'a record of a session is refused',
    follows:
      'The session is cancelled, so the platform keeps the previous set. Every change of the run becomes a problem that names the first refused record, and is tried again in the next run.',
    helps: 'Have HR correct the record; with deliver: direct, one bad record stops no other.',
    uncertain: false,
  },
  session_in_progress: {
    action: 'retry',
    when: 'another session of the CUSTOM connection is in progress that no run of this connection began',
    follows: 'The set is tried again after a minute, and later each time. It becomes a problem if that lasts.',
    helps: 'Find out what else writes to the connection, and end its session.',
    uncertain: false,
  },
  session_lost: {
    action: 'retry',
    when: 'a session was completed or cancelled by somebody else while its records were sent',
    follows: 'The whole set is sent again in a new session.',
    helps:
      'Find out what else writes to the connection. Until the next session is complete, the platform may hold a part of the set.',
    uncertain: true,
  },
  person_refused: {
    action: 'problem',
    when: 'a request about one person is refused (400, 413, 422 and the like)',
    follows: 'That person becomes a problem, with the message of the platform. It is tried again in every later run.',
    helps: 'Have HR correct the record.',
    uncertain: false,
  },
  person_missing: {
    action: 'upsert',
    when: 'the person to be updated is not there (404)',
    follows:
      'One request finds out whether the person or the operation is missing. Then the whole record is sent in a batch.',
    helps: null,
    uncertain: false,
  },
  rate_limited: {
    action: 'wait',
    when: 'the platform asks for a pause (429)',
    follows:
      'All processes that send to this platform wait as long as Retry-After says, else 15 seconds. It becomes a problem if nothing gets through for 15 minutes.',
    helps: 'If it happens often, set platform.requestsPerMinute lower.',
    uncertain: false,
  },
  circuit_open: {
    action: 'wait',
    when: 'several requests in a row failed, so none is sent for a while',
    follows: 'After a pause one request is sent as a probe, then the others.',
    helps: platformIsFailing,
    uncertain: false,
  },
  being_looked_up: {
    action: 'wait',
    when: 'another worker is looking up or creating the custom connection',
    follows: 'The batch waits a second.',
    helps: null,
    uncertain: false,
  },
  server_error: {
    action: 'retry',
    when: 'the platform fails (500 to 599) or stopped waiting for the request (408)',
    follows: `${repeatedApart} Retry-After is obeyed.`,
    helps: platformIsFailing,
    uncertain: true,
  },
  unreadable: {
    action: 'retry',
    when: 'the answer is not what the operation promises: it is HTML, JSON that is cut off or has another shape, larger than 32 MiB, not UTF-8, or it breaks off',
    follows: repeatedApart,
    helps: 'Check whether a proxy or a firewall answers in place of the platform.',
    uncertain: true,
  },
  redirected: {
    action: 'retry',
    when: 'the platform answers with a redirect (300 to 399)',
    follows: `The redirect is not followed: the key goes to the configured address only. ${repeated}`,
    helps: 'Check platform.region or platform.baseUrl.',
    uncertain: false,
  },
  not_connected: {
    action: 'retry',
    when: 'the connection is refused or cannot be made',
    follows: repeated,
    helps: 'Check platform.baseUrl, the network and the firewall.',
    uncertain: false,
  },
  name_unknown: {
    action: 'retry',
    when: 'the name of the platform cannot be resolved',
    follows: repeated,
    helps: 'Check platform.baseUrl and the DNS resolver of this machine.',
    uncertain: false,
  },
  tls_failed: {
    action: 'retry',
    when: 'the certificate of the platform is not accepted, or the platform does not use TLS',
    follows: repeated,
    helps: 'Check platform.baseUrl and the clock of this machine, and whether a proxy decrypts TLS.',
    uncertain: false,
  },
  timed_out: {
    action: 'retry',
    when: 'the connection, the first byte or the whole answer took longer than platform.timeoutMs',
    follows: repeatedApart,
    helps: 'If the platform is only slow, raise platform.timeoutMs or lower delivery.batchSize.',
    uncertain: true,
  },
  connection_lost: {
    action: 'retry',
    when: 'the connection ended before the answer began',
    follows: repeatedApart,
    helps: null,
    uncertain: true,
  },
  stopped: {
    action: 'retry',
    when: 'this process was told to stop while the request was under way',
    follows: 'The batch is released. Another process picks it up, or the next start does.',
    helps: null,
    uncertain: true,
  },
  key_refused: {
    action: 'block',
    when: 'the platform does not accept the API key (401)',
    follows: blocked,
    helps: 'Replace the key in the variable or file that the configuration names, then "rollcall unblock".',
    uncertain: false,
  },
  plan_lacks: {
    action: 'block',
    when: "the platform account's plan does not include custom connections (402)",
    follows: blocked,
    helps: 'Ask the owner of the platform account. Then "rollcall unblock".',
    uncertain: false,
  },
  permission_missing: {
    action: 'block',
    when: 'the API key lacks a permission (403)',
    follows: blocked,
    helps: 'Give the key the permissions that docs/security.md names. Then "rollcall unblock".',
    uncertain: false,
  },
  terms_not_accepted: {
    action: 'block',
    when: 'the platform account has not accepted the terms (412)',
    follows: blocked,
    helps: 'Have the owner of the platform account accept them. Then "rollcall unblock".',
    uncertain: false,
  },
  schema_differs: {
    action: 'block',
    when: 'the schema of the CUSTOM connection is another one than that of the configuration',
    follows: blocked,
    helps:
      'The reason names each difference. Write the schema of the platform into the configuration, or give the target another name, so that a new connection is made.',
    uncertain: false,
  },
  connection_missing: {
    action: 'block',
    when: 'the custom connection is not there (404)',
    follows: blocked,
    helps: 'Check the target. "rollcall unblock" looks up its name again, and creates the connection if it is missing.',
    uncertain: false,
  },
  connection_unsuitable: {
    action: 'block',
    when: 'the custom connection is of another type, or several have its name',
    follows: blocked,
    helps: 'Name the right connection by id in the target.',
    uncertain: false,
  },
  connection_unknown: {
    action: 'wait',
    when: 'the configuration of the process that sends lacks the connection of an unfinished run',
    follows:
      'The batch waits for a process whose configuration has the connection. It becomes a problem if that lasts.',
    helps: 'Give all processes of a store the same configuration, or cancel the run.',
    uncertain: false,
  },
} as const satisfies Readonly<Record<string, DeliveryFailure>>

/** The code of a failure of a delivery. */
export type DeliveryFailureCode = keyof typeof deliveryFailures

const codes = Object.keys(deliveryFailures) as readonly DeliveryFailureCode[]

/** A person whose delivery ended with one of these was not refused: the platform failed, and may have applied the change. */
export const undeliveredCodes: ReadonlySet<string> = new Set(codes.filter((code) => deliveryFailures[code].uncertain))
