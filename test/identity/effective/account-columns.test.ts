import { describe, expect, test } from 'vitest'
import { mapAccountColumns } from '../../../src/identity/effective/account-columns.ts'

/** The headers of exports of accounts, as the directories write them. */
const exports = {
  Entra: {
    headers: ['userPrincipalName', 'displayName', 'surname', 'mail', 'givenName', 'id', 'accountEnabled', 'employeeId'],
    columns: {
      key: 'id',
      login: 'userPrincipalName',
      email: 'mail',
      enabled: 'accountEnabled',
      employeeNumber: 'employeeId',
    },
  },
  Okta: {
    headers: ['User Id', 'Login', 'Email', 'First name', 'Last name', 'Status', 'Last Login', 'Employee number'],
    columns: { key: 'User Id', login: 'Login', email: 'Email', enabled: 'Status', employeeNumber: 'Employee number' },
  },
  Google: {
    headers: [
      ...['First Name [Required]', 'Last Name [Required]', 'Email Address [Required]', 'Status [READ ONLY]'],
      ...['Last Sign In [READ ONLY]', 'Employee ID'],
    ],
    columns: {
      key: 'Email Address [Required]',
      login: 'Email Address [Required]',
      email: 'Email Address [Required]',
      enabled: 'Status [READ ONLY]',
      employeeNumber: 'Employee ID',
    },
  },
  'Active Directory': {
    headers: ['SamAccountName', 'UserPrincipalName', 'Enabled', 'LastLogonDate', 'EmployeeID', 'mail', 'ObjectGUID'],
    columns: {
      key: 'ObjectGUID',
      login: 'UserPrincipalName',
      email: 'mail',
      enabled: 'Enabled',
      employeeNumber: 'EmployeeID',
    },
  },
}

describe('the columns of an export of accounts', () => {
  test.each(Object.entries(exports))('of %s are known', (_name, { headers, columns: { key, ...record } }) => {
    const mapping = mapAccountColumns(headers)

    const columns = Object.fromEntries(Object.entries(record).map(([part, column]) => [part, { column }]))
    expect(mapping).toMatchObject({ fields: { identityId: { column: key } }, record: columns })
  })

  test('without a login or an address are refused with what is missing', () => {
    expect(mapAccountColumns(['Name', 'Status'])).toBe(
      'no column is a login or an e-mail address, such as userPrincipalName, Login, Email Address',
    )
  })

  test('leave guests out, and read each row by the first number that is not blank', () => {
    const mapping = mapAccountColumns(['userPrincipalName', 'userType', 'EmployeeID', 'EmployeeNumber'])

    expect(mapping).toMatchObject({
      record: { employeeNumber: { firstOf: ['EmployeeNumber', 'EmployeeID'] } },
      scope: '$not($lowercase(`userType`) = "guest")',
    })
  })

  test('read a column Suspended as the opposite of enabled', () => {
    const mapping = mapAccountColumns(['Primary Email', 'Suspended'])

    expect(mapping).toMatchObject({ record: { enabled: { column: 'Suspended', map: { true: false, false: true } } } })
  })
})
