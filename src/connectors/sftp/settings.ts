import { z } from 'zod'
import { afterwards } from '../file/afterwards.ts'
import { checkFileFormat } from '../file/format.ts'
import { checkCompanions, fileSource, secretReference, secretText } from '../file/source-settings.ts'

const RemotePath = z.string().superRefine((path, context) => {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const folder = path.slice(0, path.length - name.length)
  const problem = pathProblem(name, folder)
  if (problem) context.addIssue({ code: 'custom', message: problem })
})

const HostKey = z
  .string()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}=?$/, { error: 'expected a fingerprint such as ssh-keygen -l prints: SHA256:…' })

const Milliseconds = z
  .int()
  .min(100)
  .max(24 * 60 * 60 * 1000)

const sftpSettings = {
  type: z.literal('sftp'),
  host: z
    .string()
    .regex(/^[\w.:-]+$/, { error: 'expected a host name or an address, without sftp://' })
    .describe('The name or address of the SFTP server.'),
  port: z.int().min(1).max(65_535).default(22).describe('The port of the SFTP server.'),
  username: z
    .string()
    .min(1)
    .describe('The account to log in with. It only needs to read, unless afterwards says more.'),
  password: secretText
    .optional()
    .describe(`The password of that account, as ${secretReference}. Set either this or privateKey.`),
  privateKey: secretText
    .optional()
    .describe(
      `The private key to log in with (OpenSSH, PEM or PuTTY; ed25519 works everywhere), as ${secretReference}.`,
    ),
  passphrase: secretText.optional().describe(`The passphrase of the private key, as ${secretReference}.`),
  hostKeys: z
    .array(HostKey)
    .min(1)
    .describe(
      "The fingerprints of the server's host keys, as its owner states them or as ssh-keyscan HOST | ssh-keygen -lf - prints them. " +
        'Nothing is sent to a server with another key.',
    ),
  path: RemotePath.describe(
    'The export on the server: a file, or a pattern such as exports/*.csv. Only the name may hold * and ?. A path without a ' +
      'leading / begins in the folder that the account logs in to.',
  ),
  afterwards: z
    .strictObject(afterwards)
    .describe(
      'What happens to an export on the server once its plan is accepted or rejected. Nothing is moved or deleted unless this says so.',
    )
    .prefault({}),
  connectTimeoutMs: Milliseconds.default(20_000).describe('How long logging in may take, in milliseconds.'),
  idleTimeoutMs: Milliseconds.default(30_000).describe(
    'How long the server may be silent, in milliseconds. Twice this time is the longest that it may take to send 30 KiB of a file.',
  ),
  totalTimeoutMs: Milliseconds.default(60 * 60 * 1000).describe(
    'How long the whole download may take, in milliseconds. The part that was fetched by then is not fetched again.',
  ),
  maxBytes: z
    .int()
    .min(1)
    .default(1024 * 1024 * 1024)
    .describe('The maximum size of an export in bytes. A larger one is refused and not fetched.'),
  ...fileSource,
}

/** The settings of exports on an SFTP server, without the mapping. */
export const SftpSource = z
  .strictObject(sftpSettings)
  .refine(({ password, privateKey }) => (password === undefined) !== (privateKey === undefined), {
    path: ['password'],
    error: 'set either password or privateKey',
  })
  .refine(({ passphrase, privateKey }) => passphrase === undefined || privateKey !== undefined, {
    path: ['passphrase'],
    error: 'belongs to a privateKey',
  })
  .superRefine(checkCompanions)
  .superRefine(checkFileFormat)

/** The parsed settings of exports on an SFTP server. */
export type SftpSource = z.infer<typeof SftpSource>

function pathProblem(name: string, folder: string): string | undefined {
  if (name === '' || name === '.' || name === '..')
    return 'names a folder: write the file in it, or a pattern such as *.csv'
  if (/[*?]/.test(folder)) return '* and ? may stand in the name of the file only'
  if (folder.startsWith('~')) return 'leave out ~/: a path without a leading / begins in the home folder'
  if (/[*?]/.test(name) && /[[\]{}]/.test(name)) return 'only * and ? are understood here'
  return isPrintable(name + folder) ? undefined : 'holds characters that no path holds'
}

function isPrintable(path: string): boolean {
  return !/\p{Cc}/u.test(path)
}
