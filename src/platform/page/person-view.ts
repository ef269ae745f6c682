import type { ComplianceCheck } from '../../contract/platform/personnel.ts'
import { type Html, html } from '../../web/html.ts'
import { badge, definitions, type Tone } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { day } from '../../web/words.ts'
import type { PersonDetails, ShownDocument, ShownPolicy } from './person.ts'
import { peopleHref } from './query.ts'
import { statusNames } from './status-names.ts'

type CheckType = ComplianceCheck['type']
type CheckStatus = ComplianceCheck['status']

const checkNames: Readonly<Record<CheckType, string>> = {
  FULL_COMPLIANCE: 'All checks',
  ACCEPTED_POLICIES: 'Policies acknowledged',
  IDENTITY_MFA: 'Second factor',
  BG_CHECK: 'Background check',
  AGENT_INSTALLED: 'Agent installed',
  PASSWORD_MANAGER: 'Password manager',
  HDD_ENCRYPTION: 'Disk encryption',
  ANTIVIRUS: 'Antivirus',
  AUTO_UPDATES: 'Automatic updates',
  LOCK_SCREEN: 'Lock screen',
  SECURITY_TRAINING: 'Security training',
  LOCATION_SERVICES: 'Location services',
  HIPAA_TRAINING: 'HIPAA training',
  OFFBOARDING: 'Offboarding',
  NIST_AI_TRAINING: 'AI training',
}

const documentNames: Readonly<Record<ShownDocument['type'], string>> = {
  SEC_TRAINING: 'Security training',
  PASSWORD_MANAGER_EVIDENCE: 'Password manager',
  AUTO_UPDATES_EVIDENCE: 'Automatic updates',
  HARD_DRIVE_ENCRYPTION_EVIDENCE: 'Disk encryption',
  ANTIVIRUS_EVIDENCE: 'Antivirus',
  LOCK_SCREEN_EVIDENCE: 'Lock screen',
  MFA_EVIDENCE: 'Second factor',
  HIPAA_TRAINING_EVIDENCE: 'HIPAA training',
  OFFBOARDING_EVIDENCE: 'Offboarding',
  NIST_AI_TRAINING_EVIDENCE: 'AI training',
}

const statusWords: Readonly<Record<CheckStatus, readonly [string, Tone]>> = {
  PASS: ['Compliant', 'good'],
  FAIL: ['Not compliant', 'bad'],
  EXCLUDED: ['Excluded', 'plain'],
  MISCONFIGURED: ['Unknown', 'wait'],
}

/** The status of a compliance check as a badge. */
export function complianceBadge(status: CheckStatus): Html {
  return badge(...statusWords[status])
}

/** When somebody is employed, as far as it is known. */
export function employmentPeriod({ startedAt, separatedAt }: Pick<PersonDetails, 'startedAt' | 'separatedAt'>): Html {
  if (startedAt && separatedAt) return html`${day(startedAt)} to ${day(separatedAt)}`
  if (startedAt) return html`from ${day(startedAt)}`
  return separatedAt ? html`until ${day(separatedAt)}` : html`<span class="faint">no dates</span>`
}

/** The page of one person: facts, compliance, documents and policies. */
export function personView(person: PersonDetails, accountId: number): Html {
  return html`<div class="heading">
<h1>${person.name}</h1>
<a href="${peopleHref({ account: accountId })}">Back to Personnel</a>
</div>
<section class="card" aria-label="Person">
${definitions([
  ['Address', person.email],
  ['Status', statusNames[person.status]],
  ['Out of scope because', person.reason],
  ['Employed', employmentPeriod(person)],
  ['Roles', person.roles.join(', ')],
  ['Groups', person.groups.join(', ')],
  ...person.customFields.map(({ name, value }) => [name, value] as const),
])}
</section>
${section('compliance', 'Compliance', table({ caption: 'Compliance checks', columns: checkColumns, rows: person.checks, empty: null }))}
${section('documents', 'Documents', table({ caption: 'Documents', columns: documentColumns, rows: person.documents, empty: 'No document has been uploaded.' }))}
${section('policies', 'Assigned policies', table({ caption: 'Assigned policies', columns: policyColumns, rows: person.policies, empty: 'No policy is assigned.' }))}`
}

function section(id: string, title: string, content: Html): Html {
  return html`<section class="card" aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}
</section>`
}

const checkColumns: readonly Column<ComplianceCheck>[] = [
  { name: 'Check', kind: 'row', cell: ({ type }) => checkNames[type] },
  { name: 'Result', cell: ({ status }) => complianceBadge(status) },
  { name: 'Completed', cell: ({ completionDate }) => completionDate && day(completionDate) },
  { name: 'Expires', cell: ({ expiresAt }) => expiresAt && day(expiresAt) },
]

const documentColumns: readonly Column<ShownDocument>[] = [
  { name: 'File', kind: 'row', cell: ({ name, href }) => html`<a href="${href}">${name}</a>` },
  { name: 'Proves', cell: ({ type }) => documentNames[type] },
  { name: 'About', kind: 'long', cell: ({ device }) => device ?? 'The person' },
  { name: 'Uploaded', cell: ({ created_at }) => day(created_at) },
  { name: 'Until', cell: ({ renewal_date }) => (renewal_date === null ? 'No expiry' : day(renewal_date)) },
]

const policyColumns: readonly Column<ShownPolicy>[] = [
  { name: 'Policy', kind: 'row', cell: ({ name }) => name },
  { name: 'Version', kind: 'figure', cell: ({ version }) => version },
  { name: 'Acknowledged', cell: ({ acceptedAt }) => (acceptedAt ? day(acceptedAt) : badge('Not yet', 'bad')) },
]
