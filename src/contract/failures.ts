/**
 * What a delivery does about an answer:
 * `problem`: that person is refused and stands in the list of problems; the others go on.
 * `split`: the batch is sent again in halves, until whoever is guilty is alone.
 * `correct`: the stored leaving date is cleared, and then set in a second request.
 * `read_back`: what the platform holds of these people is read before anything is sent again.
 * `upsert`: the person is sent whole, through the batch.
 * `wait`: nobody sends until the time is over; it counts as no failure.
 * `retry`: the batch stays due and is tried again, later each time, up to once an hour, without end.
 * `block`: nothing of the connection is sent until a probe passes.
 */
export type DeliveryAction = 'problem' | 'split' | 'correct' | 'read_back' | 'upsert' | 'wait' | 'retry' | 'block'

export type DeliveryFailure = {
  readonly action: DeliveryAction
  /** What the platform did. */
  readonly when: string
  /** What follows. */
  readonly follows: string
  /** What an operator can do about it; null where there is nothing to do. */
  readonly helps: string | null
  /** The platform may have applied the request: nobody knows what it holds. */
  readonly unsettled: boolean
}

const repeated = 'The batch stays due and is tried again, later each time, up to once an hour. No person is given up.'
const blocked = 'Nothing of the connection is sent; a probe goes out every 15 minutes. Other connections go on.'
const unwell = 'Look at the status page of the platform; nothing has to be done here.'

/** Every answer that is not simply a success, by its code: the one place that says what a delivery makes of it. */
export const deliveryFailures = {
  item_refused: {
    action: 'problem',
    when: 'one item of a batch is answered with a status of 400 to 499',
    follows: 'That person becomes a problem, with the message of the platform. It is tried again in every later run.',
    helps: 'Have HR correct the record, or approve what the message asks for.',
    unsettled: false,
  },
  item_failed: {
    action: 'retry',
    when: 'one item of a batch is answered with a status of 500 or above',
    follows: 'That person stays due and is sent again; the others of the batch are settled.',
    helps: unwell,
    unsettled: true,
  },
  results_unmatched: {
    action: 'read_back',
    when: 'the list of results is shorter or longer than the batch, or a result names another person',
    follows: 'No result is believed. Everybody of the batch is read back, and who is not there as sent is sent again.',
    helps: unwell,
    unsettled: true,
  },
  date_ignored: {
    action: 'correct',
    when: 'a leaving date is accepted and another one stays stored: the platform keeps the first until it is cleared',
    follows:
      'The stored date is cleared, then the right one is sent in a second request. The step is stored before each.',
    helps: null,
    unsettled: false,
  },
  date_kept: {
    action: 'problem',
    when: 'also after it was cleared, the platform keeps another leaving date than the one sent',
    follows: 'That person becomes a problem. It is tried again in every later run.',
    helps: 'Look at the person on the platform: something else writes the date.',
    unsettled: false,
  },
  batch_refused: {
    action: 'split',
    when: 'a batch is refused as a whole (400, 422 and the like)',
    follows:
      'It is halved until the guilty are alone, with at most 100 such requests in one attempt; what is left goes on in the next.',
    helps: null,
    unsettled: false,
  },
  batch_too_large: {
    action: 'split',
    when: 'a batch is too large for the platform (413)',
    follows: 'It is halved.',
    helps: 'Set delivery.batchBytes below what the platform takes, which saves the refused requests.',
    unsettled: false,
  },
  splitting_paused: {
    action: 'wait',
    when: 'an attempt has spent its requests on halving a refused batch',
    follows: 'What was found out is kept; the rest of the batch goes on in the next attempt.',
    helps: 'If everybody is refused, the message of the first problem says why.',
    unsettled: false,
  },
  person_refused: {
    action: 'problem',
    when: 'a request about one person is refused (400, 413, 422 and the like)',
    follows: 'That person becomes a problem, with the message of the platform. It is tried again in every later run.',
    helps: 'Have HR correct the record.',
    unsettled: false,
  },
  person_missing: {
    action: 'upsert',
    when: 'the person to be updated is not there (404)',
    follows:
      'One look tells whether the person is missing or the operation; then the person is sent whole, through the batch.',
    helps: null,
    unsettled: false,
  },
  rate_limited: {
    action: 'wait',
    when: 'the platform asks for patience (429)',
    follows:
      'All workers and processes of that platform wait as long as Retry-After says, in seconds or as a date, or 15 seconds.',
    helps: 'Where it happens all the time, set platform.requestsPerMinute lower.',
    unsettled: false,
  },
  circuit_open: {
    action: 'wait',
    when: 'several requests in a row failed, so none is sent for a while',
    follows: 'After a pause one single request goes out as a probe; when it passes, the others follow.',
    helps: unwell,
    unsettled: false,
  },
  being_looked_up: {
    action: 'wait',
    when: 'another worker looks the custom connection up right now, or makes it',
    follows: 'The batch waits a second.',
    helps: null,
    unsettled: false,
  },
  server_error: {
    action: 'retry',
    when: 'the platform fails (500 to 599) or gave up waiting for the request (408)',
    follows: `${repeated} A Retry-After is obeyed.`,
    helps: unwell,
    unsettled: true,
  },
  unreadable: {
    action: 'retry',
    when: 'the answer is not what the operation promises: HTML, JSON that is cut short or has another shape, larger than 32 MiB, not UTF-8, or it breaks off',
    follows: repeated,
    helps: 'Look whether a proxy or a firewall stands in between and answers in place of the platform.',
    unsettled: true,
  },
  redirected: {
    action: 'retry',
    when: 'the platform answers with a redirect (300 to 399)',
    follows: `It is not followed: the key goes to the configured address only. ${repeated}`,
    helps: 'Check platform.region or platform.baseUrl.',
    unsettled: false,
  },
  not_connected: {
    action: 'retry',
    when: 'the connection is refused or cannot be made',
    follows: repeated,
    helps: 'Check platform.baseUrl, the network and the firewall.',
    unsettled: false,
  },
  name_unknown: {
    action: 'retry',
    when: 'the name of the platform cannot be resolved',
    follows: repeated,
    helps: 'Check platform.baseUrl and the resolver of this machine.',
    unsettled: false,
  },
  tls_failed: {
    action: 'retry',
    when: 'the platform cannot prove who it is, or does not speak TLS',
    follows: repeated,
    helps: 'Check platform.baseUrl, the clock of this machine, and whether a proxy breaks TLS open.',
    unsettled: false,
  },
  timed_out: {
    action: 'retry',
    when: 'the connection, the first byte or the whole answer took longer than platform.timeoutMs',
    follows: repeated,
    helps: 'Raise platform.timeoutMs or lower delivery.batchSize if the platform is just slow.',
    unsettled: true,
  },
  connection_lost: {
    action: 'retry',
    when: 'the connection ended before the answer began',
    follows: repeated,
    helps: null,
    unsettled: true,
  },
  stopped: {
    action: 'retry',
    when: 'this process was told to stop while the request was under way',
    follows: 'The batch is handed back and taken up by the next process, or by the next start.',
    helps: null,
    unsettled: true,
  },
  key_refused: {
    action: 'block',
    when: 'the platform does not accept the API key (401)',
    follows: blocked,
    helps:
      'Replace the key where the configuration takes it from; a file is read again for every request. Then "rollcall unblock".',
    unsettled: false,
  },
  plan_lacks: {
    action: 'block',
    when: "the platform account's plan does not include custom connections (402)",
    follows: blocked,
    helps: 'Ask the owner of the platform account. Then "rollcall unblock".',
    unsettled: false,
  },
  permission_missing: {
    action: 'block',
    when: 'the API key lacks a permission (403)',
    follows: blocked,
    helps: 'Give the key the permissions that docs/install.md lists. Then "rollcall unblock".',
    unsettled: false,
  },
  terms_not_accepted: {
    action: 'block',
    when: 'the platform account has not accepted the terms (412)',
    follows: blocked,
    helps: 'Have the owner of the platform account accept them. Then "rollcall unblock".',
    unsettled: false,
  },
  connection_missing: {
    action: 'block',
    when: 'the custom connection is not there (404)',
    follows: blocked,
    helps:
      'Check the target. "rollcall unblock" looks a target up by its name again, and makes it where it is missing.',
    unsettled: false,
  },
  connection_unsuitable: {
    action: 'block',
    when: 'the custom connection is of another type, or several have its name',
    follows: blocked,
    helps: 'Name the right one by id in the target.',
    unsettled: false,
  },
  connection_unknown: {
    action: 'block',
    when: 'the configuration no longer has the connection of a run that is under way',
    follows: blocked,
    helps: 'Put it back, or cancel the run.',
    unsettled: false,
  },
} as const satisfies Readonly<Record<string, DeliveryFailure>>

export type DeliveryFailureCode = keyof typeof deliveryFailures
