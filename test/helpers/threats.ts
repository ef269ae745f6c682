/** A threat: who could do harm, what prevents it, and the tests that show it. */
export type Threat = {
  readonly from: string
  readonly protection: string
  /** Files below the root of the project, with the title of the test or a part of it. */
  readonly tests: readonly (readonly [file: string, title: string])[]
}

/** The threat model, by what is protected. docs/security.md has its table. */
export const threats: Readonly<Record<string, readonly Threat[]>> = {
  'The store': [
    {
      from: 'another account of the machine',
      protection: 'only its owner can use the data folder; secrets in it have mode 600',
      tests: [
        ['test/daemon/control/local-socket.test.ts', 'only its account can use the socket and its folder'],
        ['test/daemon/audit/service.test.ts', 'the first start makes a key that only its owner can read'],
      ],
    },
    {
      from: 'a second process, also by accident',
      protection: 'an OS lock on the embedded store; leases in PostgreSQL',
      tests: [
        ['test/database/lock-file.test.ts', 'a second process is refused with the pid of the first'],
        ['test/e2e/two-daemons.test.ts', 'share the work, and deliver each change once and one run after the other'],
      ],
    },
    {
      from: 'an attacker between Rollcall and PostgreSQL',
      protection: 'TLS with a checked certificate, if the address says `sslmode`; without it, nothing',
      tests: [['test/database/pair.test.ts', 'with sslmode=%s and its authority reaches the server at %s']],
    },
    {
      from: 'a pooler or a replica in place of the server',
      protection: 'both are detected at each start, and refused',
      tests: [
        ['test/database/pooler.test.ts', 'is refused with advice'],
        ['test/database/pair.test.ts', 'a replica is refused, and says what to name instead'],
      ],
    },
    {
      from: 'another application of the same PostgreSQL',
      protection: 'a role that can use only two schemas of its own',
      tests: [['test/database/roles.test.ts', 'needs nothing else']],
    },
  ],
  'The queue': [
    {
      from: 'an attacker between Rollcall and Redis',
      protection: 'it holds ids only; TLS with a checked certificate, with `rediss://`',
      tests: [['test/queue/tls.test.ts', 'a Redis with TLS is used with the authority that the address names']],
    },
  ],
  'Values of people': [
    {
      from: 'readers of mails to HR on their way',
      protection: 'names and cells are only in the attachment; without TLS such mails are refused',
      tests: [
        ['test/daemon/hand-over/mailing.test.ts', 'have no value in their text'],
        ['test/daemon/hand-over/config.test.ts', 'mails with names and cells need TLS'],
      ],
    },
    {
      from: 'readers of logs, the queue, alerts, traces and metrics',
      protection: 'logs hold keys, the queue ids, the others counts; messages of databases and parsers are dropped',
      tests: [
        [
          'test/e2e/canaries.test.ts',
          'no personal value and no secret is in logs, queue payloads, alerts, mails, traces, the audit trail or the output of commands',
        ],
        ['test/telemetry/log.test.ts', 'errors that quote the data they failed on are written without it'],
      ],
    },
    {
      from: 'readers of an old store',
      protection: 'values go after `retention.valuesDays`, and with `rollcall forget`',
      tests: [
        ['test/store/retention/retain.test.ts', 'values of finished runs go after their time'],
        ['test/store/retention/forget.test.ts', 'a person who has left is forgotten everywhere'],
      ],
    },
  ],
  'The platform key': [
    {
      from: 'readers of files, logs and errors',
      protection: 'it is read from a file or the environment, never stored or printed',
      tests: [
        ['test/telemetry/log.test.ts', 'a field named %s is blanked at two depths'],
        ['test/e2e/canaries.test.ts', 'no personal value and no secret is in logs'],
      ],
    },
    {
      from: 'a server that answers with a redirect',
      protection: 'redirects are not followed',
      tests: [['test/http/client/read-answer.test.ts', 'a redirect is an answer and is not followed']],
    },
  ],
  'The people on the platform': [
    {
      from: 'an export that is empty, cut off, permuted or old',
      protection: 'an incomplete export is refused; guards hold unusual plans until a person approves them',
      tests: [
        ['test/e2e/truncation.test.ts', 'is refused, is held, or has the plan of the full export'],
        ['test/sync/promises.test.ts', 'promise 2: no mass mistake'],
      ],
    },
    {
      from: 'one operator alone',
      protection: 'approvals name a digest and a person; `twoPeople` requires a second one',
      tests: [['test/sync/requests/approvals.test.ts', 'takes another one than the person who asked for the run']],
    },
    {
      from: 'a response of the platform that cannot be trusted',
      protection: 'responses are checked against the contract; unknown outcomes are looked up',
      tests: [
        ['test/http/client/read-answer.test.ts', 'a listed error has the content of its body'],
        [
          'test/sync/verify/uncertain.test.ts',
          'a batch whose answer was lost is looked up, and nothing of it is sent again',
        ],
      ],
    },
  ],
  'An export on its way': [
    {
      from: 'an attacker in place of the SFTP server',
      protection: 'host keys are pinned; nothing is sent to another one',
      tests: [['test/connectors/sftp/connect.test.ts', 'is not tried where the host key is none of the pinned ones']],
    },
    {
      from: 'an SFTP server with false names and sizes',
      protection: 'paths stay below the configured folder; time, bytes and memory are bounded',
      tests: [
        [
          'test/connectors/sftp/hostile.test.ts',
          'and names files by paths, dots and 64 KB is read for its honest one, and nothing is written elsewhere',
        ],
        ['test/connectors/sftp/hostile.test.ts', 'costs a bounded time and no memory'],
      ],
    },
    {
      from: 'an attacker in place of the HTTP server, or a page that leads elsewhere',
      protection: 'TLS; redirects and pages stay on host and port; private addresses only if allowed',
      tests: [
        ['test/connectors/http/safety.test.ts', 'a next page on another host is refused, and nothing is sent there'],
        ['test/connectors/http/tls.test.ts', 'is refused for %s'],
      ],
    },
    {
      from: 'an attacker in place of the token endpoint, or an answer that leads elsewhere',
      protection: 'the same; no redirects; its text is not shown',
      tests: [
        [
          'test/connectors/http/authorization/token-answers.test.ts',
          'leads to a private address is refused before the secret is sent',
        ],
        [
          'test/connectors/http/authorization/token-answers.test.ts',
          '%s has a sentence with what helps, without the words of the server',
        ],
      ],
    },
    {
      from: 'a second reader or a crash, with a refresh token for one use',
      protection: 'an OS lock; the next token is on disk before it is used',
      tests: [
        ['test/connectors/http/authorization/refresh-token.test.ts', 'is spent once by two readings at the same time'],
        [
          'test/connectors/http/authorization/refresh-token.test.ts',
          'is not lost when the process dies before it uses the access token',
        ],
      ],
    },
    {
      from: 'people who can write into the folder',
      protection: 'OpenPGP signatures with `decrypt.verifyWith`; limits on sizes, depths and times',
      tests: [
        ['test/connectors/file/decode/openpgp.test.ts', 'is read where it carries the signature that is asked for'],
        ['test/connectors/file/decode/zip.test.ts', 'of more bytes than configured'],
      ],
    },
    {
      from: 'makers of workbooks that fill memory, name files or carry macros',
      protection: 'limits on unpacked sizes, rows and depths; document types, outside parts and macros are refused',
      tests: [
        ['test/connectors/xlsx/refused.test.ts', 'that unpacks to more than 200 times its size'],
        ['test/connectors/xlsx/refused.test.ts', 'with entries that overlap'],
        ['test/connectors/xlsx/refused.test.ts', 'with a document type'],
        ['test/connectors/xlsx/refused.test.ts', 'whose sheet is elsewhere'],
        ['test/connectors/xlsx/refused.test.ts', 'a workbook with macros, by its type'],
        ['test/connectors/xlsx/fuzz.test.ts', 'an archive with changed bytes is refused, or says what it said'],
      ],
    },
  ],
  'The mapping': [
    {
      from: 'people who write the configuration',
      protection: 'expressions see one row, within limits on time and memory',
      tests: [
        ['test/connectors/expressions/bounded.test.ts', 'that takes the memory of the worker costs its row alone'],
      ],
    },
  ],
  'The control API': [
    {
      from: 'other accounts and machines',
      protection: 'a socket of its account; over TCP only with a token, which has a role',
      tests: [
        [
          'test/daemon/control/local-socket.test.ts',
          'a folder of another account is neither used by a daemon nor trusted by a command',
        ],
        ['test/daemon/control/control.test.ts', 'answers over TCP to callers with the configured token'],
        ['test/daemon/control/with-permissions.test.ts', 'each role may do what those before it may, and no more'],
      ],
    },
    {
      from: 'lost tokens, and tokens of people who have left',
      protection: 'they have a role, expire, and can be revoked; a restore revokes all',
      tests: [
        ['test/daemon/access/tokens.test.ts', 'lets no one in once it has expired or is revoked, and says so'],
        ['test/daemon/access/tokens.test.ts', 'lets no one in after a restore'],
      ],
    },
    {
      from: 'guessing',
      protection: 'tokens of 256 bits; a pause after twenty wrong ones',
      tests: [
        ['test/daemon/access/tokens.test.ts', 'cannot be guessed: an address that sends twenty wrong ones has to wait'],
      ],
    },
    {
      from: 'readers of the database',
      protection: 'tokens are stored as digests',
      tests: [
        [
          'test/daemon/access/tokens.test.ts',
          'lets its holder in with its role, under its name, and is stored nowhere',
        ],
      ],
    },
    {
      from: 'a caller who claims to be another person',
      protection: 'the name of the token or sign-in is recorded; another one is refused',
      tests: [
        [
          'test/daemon/control/with-permissions.test.ts',
          'the name in a request is trusted only from the account of this machine',
        ],
      ],
    },
    {
      from: "an attacker who listens on the daemon's port first",
      protection: 'commands never ask a port, and send no token',
      tests: [
        [
          'test/cli/session/find-daemon.test.ts',
          'no command sends anything to a stranger on the port of the configuration',
        ],
      ],
    },
  ],
  'The console': [
    {
      from: 'a page of another site in the same browser',
      protection: 'forms carry a session token; requests from other sites change nothing; scripts cannot read cookies',
      tests: [
        ['test/daemon/access/sign-in.test.ts', 'is refused without its token, or with the token of another visitor'],
        ['test/http/server/hosts.test.ts', 'changes nothing'],
      ],
    },
    {
      from: 'DNS rebinding',
      protection: "requests to a name that is not the daemon's are refused",
      tests: [['test/http/server/hosts.test.ts', 'is refused, whatever it requests']],
    },
    {
      from: 'copied, forged or kept cookies',
      protection:
        'sessions are secrets of 256 bits, stored as digests; they end with their token, when idle, and after half a day',
      tests: [
        [
          'test/daemon/access/sign-in.test.ts',
          'takes a token and leads to the page that the person requested, and signing out ends the session for good',
        ],
        ['test/daemon/access/sign-in.test.ts', 'belongs to no one if its cookie was forged or changed'],
        ['test/daemon/access/sign-in.test.ts', 'when its token is revoked, and when its token expires'],
      ],
    },
    {
      from: 'a forged response of the identity provider',
      protection: 'PKCE, state and nonce; issuer, audience, time and signature are checked',
      tests: [
        ['test/daemon/access/provider.test.ts', 'with a wrong %s signs no one in'],
        [
          'test/daemon/access/provider.test.ts',
          'can be finished only by the browser that began it, only once, and only within ten minutes',
        ],
      ],
    },
    {
      from: 'employees without a role in Rollcall',
      protection: 'no sign-in without a group that has a role',
      tests: [['test/daemon/access/provider.test.ts', 'says so to a person with %s']],
    },
    {
      from: 'a link that leads elsewhere after the sign-in',
      protection: 'only paths of the console are followed',
      tests: [['test/daemon/access/sign-in.test.ts', 'does not lead to %s']],
    },
    {
      from: 'curious users',
      protection: 'viewers see keys and counts; the audit trail records each look at personal values',
      tests: [
        ['test/daemon/control/with-permissions.test.ts', 'a viewer sees no personal values, and an operator does'],
        ['test/console/effective.test.ts', 'whoever may not see personal values sees keys and digests only'],
        [
          'test/daemon/control/with-permissions.test.ts',
          'the audit trail records who saw whose values, and what was refused to whom, once a minute',
        ],
      ],
    },
    {
      from: "markup in the fields of HR's people",
      protection: "values are escaped; the content security policy allows only the daemon's scripts",
      tests: [
        ['test/console/naughty-browser.test.ts', 'every value of HR is shown as text on every page'],
        ['test/console/console.test.ts', 'every page keeps strangers out'],
      ],
    },
    {
      from: 'a plan that changes while a person reads it',
      protection: 'the form carries the digest of that plan',
      tests: [['test/console/console.test.ts', 'a plan that changed since the page was opened is not approved']],
    },
  ],
  'The webhook': [
    {
      from: 'senders without the secret',
      protection: 'a signature over the received bytes, valid for five minutes',
      tests: [
        ['test/daemon/webhooks/webhooks.test.ts', 'a body that was changed in transit is refused'],
        ['test/connectors/webhook/refusals.test.ts', 'is refused in another spelling of the same bytes'],
      ],
    },
    {
      from: 'a replayed event',
      protection: 'its id or digest is known for seven days',
      tests: [
        ['test/daemon/webhooks/webhooks.test.ts', 'a repeated event gets the same answer and is not stored twice'],
      ],
    },
    {
      from: 'floods and slow senders',
      protection: 'limits on size, time and waiting events',
      tests: [
        ['test/daemon/webhooks/limits.test.ts', 'many slow senders delay nobody else, and are refused'],
        [
          'test/daemon/webhooks/limits.test.ts',
          'is full also if everything arrives at once, and only for its own connection',
        ],
      ],
    },
  ],
  SCIM: [
    {
      from: 'senders without a token, or with a token for another purpose',
      protection:
        'a token pushes to one connection and opens nothing else; guesses are slowed down, and learn of no connection',
      tests: [
        ['test/daemon/scim/refusals.test.ts', 'only a token of the connection, while it is valid'],
        ['test/daemon/access/tokens.test.ts', 'of a connection that is pushed opens nothing else'],
        ['test/daemon/scim/refusals.test.ts', 'an address that fails too often waits'],
      ],
    },
    {
      from: 'an identity system that deactivates everybody',
      protection: 'the guards hold the plan, while the sender gets its answers',
      tests: [['test/e2e/scim.test.ts', 'holds a mass deactivation while the sender gets 2xx']],
    },
    {
      from: 'hostile documents, and floods',
      protection: 'limits on size, depth, waiting events and changes under way',
      tests: [
        ['test/daemon/scim/refusals.test.ts', 'deep JSON'],
        ['test/daemon/scim/refusals.test.ts', 'a full inbox asks the sender to come again, and stores nothing'],
        ['test/daemon/scim/refusals.test.ts', 'more changes than may be under way are asked to come again'],
      ],
    },
  ],
  'The audit trail': [
    {
      from: 'an attacker who can write into the database',
      protection: 'entries are chained by hashes and signed with a key outside the database',
      tests: [['test/store/audit/trail.test.ts', 'is found by each byte of each column of each row']],
    },
    {
      from: 'an attacker who cuts the trail or restores an old copy',
      protection: 'the last checkpoint is also outside the database',
      tests: [
        [
          'test/daemon/audit/service.test.ts',
          'a trail that was cut back to an earlier head is noticed at the next entry, and by verify',
        ],
      ],
    },
  ],
  'Terminals, logs and pages': [
    {
      from: 'people who can write a name, a cell, a header or an answer',
      protection: 'all output is escaped in one place',
      tests: [['test/e2e/outside-text.test.ts', 'reach no terminal, pipe or document raw']],
    },
  ],
  'The container': [
    {
      from: 'an attacker who runs code in it',
      protection: 'an unprivileged account; ports on the loopback; no secret in the image',
      tests: [
        ['test/e2e/container.test.ts', 'run the daemon as an account without rights'],
        ['test/e2e/container.test.ts', 'open ports on the loopback only'],
      ],
    },
  ],
  'What is installed': [
    {
      from: 'a registry or mirror with another package',
      protection: 'the lock file has the SHA-512 of every package',
      tests: [
        [
          'test/packages/packages.test.ts',
          'every package that can be installed to run Rollcall has its integrity in the lock file',
        ],
      ],
    },
    {
      from: 'a package with an install script',
      protection: 'scripts are off, in a checkout and in the image',
      tests: [['test/packages/packages.test.ts', 'no package runs a script when it is installed']],
    },
  ],
  'The Personnel page': [
    {
      from: 'strangers who guess passwords, other pages in the same browser',
      protection: 'a pause after five wrong passwords; tokens in forms; no scripts, no frames',
      tests: [
        [
          'test/platform/page/sign-in.test.ts',
          'five wrong passwords for a name block that name at that address for a while',
        ],
        ['test/platform/page/sign-in.test.ts', 'a form without its token, or with that of another visitor, is refused'],
      ],
    },
  ],
}
