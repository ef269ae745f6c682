import type { OwnField } from '../record.ts'
import { accountProperties } from './accounts.ts'

/** What directories call the parts of an account in their exports, best first, without signs and in lower case. */
const names: Readonly<Record<string, readonly string[]>> = {
  id: ['id', 'objectid', 'userid', 'oktaid', 'objectguid', 'guid'],
  login: ['userprincipalname', 'login', 'username', 'samaccountname', 'upn', 'primaryemail', 'useremail', 'account'],
  email: ['mail', 'email', 'emailaddress', 'primaryemail', 'primaryemailaddress', 'workemail'],
  aliases: ['aliases', 'proxyaddresses', 'emailaliases', 'othermails', 'secondaryemail'],
  enabled: ['accountenabled', 'enabled', 'status', 'userstatus', 'accountstatus', 'active', 'isactive', 'suspended'],
  lastSignIn: ['lastsignin', 'lastsignindatetime', 'lastlogin', 'lastlogondate', 'lastlogon', 'lastsigninactivity'],
  employeeNumber: ['employeenumber', 'employeeid', 'personnelnumber', 'workerid', 'staffid'],
  firstName: ['givenname', 'firstname'],
  lastName: ['surname', 'lastname', 'familyname', 'sn'],
}

/** What the values of a status mean. A directory enables what it does not name otherwise. */
const enabledMeans: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(
    ['true', 'yes', '1', 'active', 'enabled', 'staged', 'provisioned', 'recovery'].map((word) => [word, true]),
  ),
  ...Object.fromEntries(
    ['locked out', 'password expired', 'locked_out', 'password_expired'].map((word) => [word, true]),
  ),
  ...Object.fromEntries(['false', 'no', '0', 'inactive', 'disabled', 'suspended'].map((word) => [word, false])),
  ...Object.fromEntries(['deprovisioned', 'deactivated', 'deleted', 'archived'].map((word) => [word, false])),
}

/** A mapping of accounts: a column for the key, and one for each property that the header has. */
type AccountMapping = {
  readonly fields: Readonly<Record<string, unknown>>
  readonly record: Readonly<Record<string, unknown>>
  readonly scope?: string
}

/**
 * Maps the columns of an export of accounts by the names that directories use. A text says what the header lacks. Of two columns that could
 * be the same part, the name is read that stands first in the table; of several numbers, the first that is not blank. Guests are left out.
 */
export function mapAccountColumns(headers: readonly string[]): AccountMapping | string {
  const byName = new Map(headers.toReversed().map((header) => [plain(header), header]))
  const columnsOf = (part: string) => names[part]?.flatMap((name) => byName.get(name) ?? []) ?? []
  const columnOf = (part: string) => columnsOf(part)[0]
  const login = columnOf('login') ?? columnOf('email')
  const key = columnOf('id') ?? login
  if (key === undefined || login === undefined)
    return `no column is a login or an e-mail address, such as ${['userPrincipalName', 'Login', 'Email Address'].join(', ')}`
  const columns = { ...Object.fromEntries(Object.keys(names).map((part) => [part, columnOf(part)])), login }
  const record = [...accountProperties].flatMap(([field, property]) => {
    const column = columns[partOf(field) as keyof typeof columns]
    if (column === undefined) return []
    const numbers = field === '.employeeNumber' ? columnsOf('employeeNumber') : []
    const text = numbers.length > 1 ? { firstOf: numbers } : { column }
    return [[partOf(field), { ...text, property, ...rulesOf(field, column) }]]
  })
  const userType = byName.get('usertype')
  const scope = userType === undefined ? {} : { scope: `$not($lowercase(\`${userType}\`) = "guest")` }
  return { fields: { identityId: { column: key } }, record: Object.fromEntries(record), ...scope }
}

function rulesOf(field: OwnField, column: string): object {
  if (field !== '.enabled') return {}
  const isOpposite = plain(column) === 'suspended'
  const map = Object.entries(enabledMeans).map(([word, isEnabled]) => [word, isOpposite ? !isEnabled : isEnabled])
  return { map: Object.fromEntries(map) }
}

function partOf(field: OwnField): string {
  return field.slice(1)
}

/** The name of a column without signs and without a remark in brackets, as Google adds to its own. */
function plain(header: string): string {
  return header
    .replace(/\[.*\]/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
}
