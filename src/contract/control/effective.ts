import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { After, Limit, page } from './lists.ts'
import { Values } from './plans.ts'

const Instant = z.string().describe('An instant in ISO 8601, in UTC.')
const Count = z.int().min(0)

/** Why a person's status on the platform, or account in a directory, does not match HR's data: its name for people, and what helps. */
export const effectiveCauses = {
  record_missing: {
    name: 'Record missing',
    text: 'the platform acknowledged the identity record, and does not have it any more',
    helps: 'rollcall resync --verify sends it again',
  },
  not_matched: {
    name: 'Matched to no person',
    text: 'the platform has the identity record, and matches it to no person',
    helps: 'correct the e-mail in HR or on the Personnel page of the platform, so that both are the same',
  },
  matched_to_other: {
    name: 'E-mail of two keys',
    text: 'another key, which is not known to have the same name, has the same e-mail, and its record decides about the person',
    helps: 'correct the e-mail of one of the two in HR',
  },
  sync_paused: {
    name: 'Sync paused by hand',
    text: 'a manual edit on the platform pauses the sync of the person, so that what HR states now or later has no effect',
    helps: 'rollcall effective fix',
  },
  set_by_hand: {
    name: 'Set by hand',
    text: 'the status or a date was set by hand on the platform, and differs from HR',
    helps: 'rollcall effective fix, or correct HR if the edit is right',
  },
  out_of_scope: {
    name: 'Out of scope by hand',
    text: 'the platform has the person out of scope, or as a service account',
    helps: 'rollcall effective fix takes the person back into scope',
  },
  overwritten: {
    name: 'Another source decides',
    text: 'another source decides about the person on the platform',
    helps:
      'remove the person there from the other connection, or from its scope; rollcall resync --verify repairs a changed record',
  },
  former_by_mistake: {
    name: 'Former by mistake',
    text: 'the platform shows the person as former, and HR states that they are employed',
    helps: 'rollcall effective fix if it was set by hand, else rollcall resync --verify',
  },
  not_synced: {
    name: 'Not synced yet',
    text: 'the platform has the newest record, and no identity sync has run since it got it',
    helps: 'wait for the next identity sync; if it is late, start it on the Personnel page of the platform',
  },
  duplicate_person: {
    name: 'Second person',
    text: 'the platform shows a second person with this name as employed, whom no connection states',
    helps: 'remove or separate the second one on the Personnel page of the platform, after you compared both',
  },
  stated_by_nobody: {
    name: 'Stated by no source',
    text: 'the platform shows a person as employed whom no connection states',
    helps: 'ask HR about the person, or correct the status on the Personnel page of the platform',
  },
  kind_unknown: {
    name: 'Contractor or not',
    text: 'the platform shows the person as unknown, because HR does not state whether they are a contractor',
    helps: 'map isContractor',
  },
  not_looked_up: {
    name: 'Not looked up yet',
    text: "the status on the platform does not match HR's data, and the record has not been read yet",
    helps: 'wait: the next comparisons read those first who wait longest; rollcall effective --compare does it now',
  },
  account_of_leaver: {
    name: 'Account of a leaver',
    text: 'an account is enabled although its person has left',
    helps: 'disable the account in the directory, or correct HR’s data if the person still works there',
  },
  account_unknown: {
    name: 'Account without a person in HR',
    text: 'an account is enabled, and nobody in HR’s accepted data has its employee number or one of its addresses',
    helps:
      'disable the account; if it is somebody’s, set its employee number or address as HR has it; exclude service accounts with the scope of the directory',
  },
  account_missing: {
    name: 'No account',
    text: 'HR states that the person is employed, and the directory has no account of theirs',
    helps: 'create the account, or add the employee number or the address of the person to it',
  },
} as const satisfies Record<string, { readonly name: string; readonly text: string; readonly helps: string }>

const Cause = z.enum(Object.keys(effectiveCauses) as [EffectiveCause, ...EffectiveCause[]])
type EffectiveCause = keyof typeof effectiveCauses

/** A person whose status on the platform, or account in a directory, does not match HR's data. */
export const EffectiveFinding = z
  .object({
    connection: z
      .string()
      .describe('The connection, or the directory. People whom no connection states are listed with the first one.'),
    personConnection: z
      .string()
      .describe('The connection that states the person. That of an account of nobody is the directory.'),
    person: z
      .string()
      .describe(
        'The key, `person` and the number on the platform if no connection states them, or `account` and a digest if HR does not know it.',
      ),
    identityId: z.string().nullable(),
    personId: z.int().nullable().describe('The number of the person in the personnel of the platform.'),
    name: z
      .string()
      .nullable()
      .optional()
      .describe('Only where values are asked for. Of an account of nobody, its login.'),
    cause: Cause,
    text: z.string().describe('The cause in words.'),
    evidence: z.string().describe('What shows it. E-mails, reasons and who edited only where values are asked for.'),
    helps: z.string(),
    canReset: z.boolean().describe('Whether `POST /effective/fix` helps.'),
    firstSeenAt: Instant,
    ageSeconds: Count,
  })
  .meta({ id: 'EffectiveFinding' })
export type EffectiveFinding = z.infer<typeof EffectiveFinding>

/** How many people of each connection have the status on the platform that HR's data implies, and how the newest comparison ended. */
export const EffectiveCoverage = z
  .object({
    comparedAt: Instant.nullable().describe('When everybody was compared last; null: never.'),
    syncedAt: Instant.nullable().describe('The identity sync that this comparison knew of.'),
    requests: Count.describe('Requests that the newest comparison took.'),
    failure: z
      .string()
      .nullable()
      .describe('Why the newest comparison could not be finished, in words; what was found before stays.'),
    connections: z.array(
      z.object({
        connection: z.string(),
        comparedAt: Instant.describe(
          'When its people were compared last. A connection that cannot be opened is left out.',
        ),
        people: Count.describe('People whom the platform has acknowledged as HR states them.'),
        effective: Count,
        percent: z.number().min(0).max(100).describe('Rounded down, so that 100 means everybody.'),
        findings: Count,
        causes: z.record(z.string(), Count).describe('Findings by cause.'),
      }),
    ),
    directories: z
      .array(
        z.object({
          directory: z.string(),
          comparedAt: Instant.nullable().describe('When its accounts were compared last; null: never.'),
          asOf: Instant.nullable().describe('When the list was written.'),
          accounts: Count,
          unreadable: Count.describe('Rows of the list that could not be read.'),
          failure: z
            .string()
            .nullable()
            .describe('Why the newest list could not be compared; what was found before stays.'),
          causes: z.record(z.string(), Count).describe('Enabled accounts, and people without one, by cause.'),
        }),
      )
      .describe('The lists of accounts that the configuration names.'),
  })
  .meta({ id: 'EffectiveCoverage' })
export type EffectiveCoverage = z.infer<typeof EffectiveCoverage>

/** Enabled accounts of leavers, accounts of nobody, and people without an account, by a list that was given. */
export const AccountComparison = z
  .object({
    accounts: Count,
    people: Count.describe('People whom HR states, also those who have left.'),
    findings: z.array(EffectiveFinding),
  })
  .meta({ id: 'AccountComparison' })
export type AccountComparison = z.infer<typeof AccountComparison>

const Text = z.string().max(1000).nullable().default(null)

/** An account of a list. */
const ListedAccount = z.strictObject({
  id: z.string().min(1).max(1000),
  login: Text,
  emails: z.array(z.string().max(1000)).max(100).default([]),
  isEnabled: z.boolean(),
  lastSignInAt: Text,
  employeeNumber: Text,
  firstName: Text,
  lastName: Text,
})

/** What a reset asked of the platform. */
export const EffectiveFixed = z
  .object({
    keys: z.array(z.string()),
    reset: Count.describe('How many people the platform updates again at its next identity sync.'),
  })
  .meta({ id: 'EffectiveFixed' })
export type EffectiveFixed = z.infer<typeof EffectiveFixed>

const errors = [400, 401, 403, 404, 409, 500, 503] as const
const maxFixed = 500
/** Maximum number of accounts in one request; a longer list is for a directory of the configuration. */
export const maxListedAccounts = 50_000

/** Operations about people whose status on the platform does not match HR's data. */
export const effectiveOperations = operations({
  listEffective: {
    method: 'GET',
    path: '/effective',
    permission: 'viewer',
    summary: "The people whose status on the platform does not match HR's data, and why.",
    query: z.object({
      connection: z.string().optional(),
      cause: Cause.optional(),
      person: z.string().min(1).optional().describe('The `person` of a finding.'),
      after: After,
      limit: Limit.default(500),
      values: Values,
    }),
    success: { 200: page(EffectiveFinding, z.string()) },
    errors,
  },
  effectiveCoverage: {
    method: 'GET',
    path: '/effective/coverage',
    permission: 'viewer',
    summary: "How many people of each connection have the status on the platform that HR's data implies.",
    success: { 200: EffectiveCoverage },
    errors,
  },
  compareEffective: {
    method: 'POST',
    path: '/effective/compare',
    permission: 'operator',
    summary:
      'Compare everybody now, and every list of accounts. It reads only, and takes one request for each 500 people, and at most 45 for those whom these do not explain.',
    query: z.object({
      directory: z.string().optional().describe('Compares only the accounts of this directory.'),
    }),
    success: { 200: EffectiveCoverage },
    errors,
  },
  compareAccounts: {
    method: 'POST',
    path: '/effective/accounts',
    permission: 'operator',
    summary: 'Compare a list of accounts with the people of HR. Nothing is stored.',
    body: z.strictObject({
      directory: z.string().min(1).max(200).describe('A name for the list.'),
      asOf: z.iso
        .datetime()
        .optional()
        .describe('When the list was written, within the last seven days. Default: now.'),
      accounts: z.array(ListedAccount).min(1).max(maxListedAccounts),
    }),
    query: z.object({ values: Values }),
    success: { 200: AccountComparison },
    errors: [...errors, 422],
  },
  fixEffective: {
    method: 'POST',
    path: '/effective/fix',
    permission: 'operator',
    summary: 'Have the platform update people again who were edited there by hand.',
    body: z.strictObject({
      connection: z.string().optional(),
      keys: z.array(z.string().min(1)).min(1).max(maxFixed).describe('The `person` of findings.'),
      reason: z.string().min(1).max(500),
      by: By,
    }),
    success: { 200: EffectiveFixed },
    errors,
  },
})
