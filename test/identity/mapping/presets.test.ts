import { describe, expect, test } from 'vitest'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { compileMapping, Mapping, MappingPatch, mergePreset } from '../../../src/identity/mapping/mapping.ts'

const generic = (await readPresets()).get('generic')?.mapping ?? {}

describe('a preset', () => {
  const preset = MappingPatch.parse({
    fields: {
      identityId: { column: ['Worker ID', 'Employee ID'] },
      email: { column: ['Mail', 'Email'], optional: true },
      startedAt: { column: ['Start Date'], optional: true },
    },
    status: { column: 'Status', leftWhen: ['Left'] },
  })
  const merged = (overrides: unknown) => Mapping.parse(mergePreset(preset, MappingPatch.parse(overrides)))

  test('is the mapping without overrides', () => {
    const { fields, status } = merged({})

    expect(fields.email).toMatchObject({ column: ['Mail', 'Email'], optional: true })
    expect(status).toMatchObject({ column: 'Status' })
  })

  test.each(['Post', { column: 'Post' }])('is replaced by a named column, which must then exist', (email) => {
    const { fields } = merged({ fields: { email } })

    expect(fields.email).toMatchObject({ column: 'Post', optional: false })
  })

  test('is refined by options without a column', () => {
    const { fields } = merged({ fields: { startedAt: { format: 'MM/dd/yyyy' } } })

    expect(fields.startedAt).toMatchObject({ column: ['Start Date'], optional: true, format: 'MM/dd/yyyy' })
  })

  test.each([
    { template: '{First}.{Last}@example.com' },
    { firstOf: ['Work', 'Home'] },
    { expression: '$lowercase(Mail)' },
  ])('is replaced completely by another source of the text: %j', (email) => {
    const { fields } = merged({ fields: { email } })

    expect(fields.email).toEqual({ ...email, optional: false, onBlank: 'clear' })
  })

  test('with a template is refined without losing it', () => {
    const withTemplate = MappingPatch.parse({
      fields: { identityId: 'id', managerName: { template: '{First} {Last}' } },
    })

    const { fields } = Mapping.parse(mergePreset(withTemplate, { fields: { managerName: { onBlank: 'keep' } } }))

    expect(fields.managerName).toMatchObject({ template: '{First} {Last}', onBlank: 'keep' })
  })

  test('decides about several rows and actions, unless overridden', () => {
    const latest = { column: 'Effective Date', format: 'yyyy-MM-dd' }
    const withActions = MappingPatch.parse({
      fields: { identityId: 'id' },
      severalRows: { latest },
      action: { column: 'Event', join: ['Hire'] },
      rowTimeZone: { column: 'Zone' },
    })

    const kept = Mapping.parse(mergePreset(withActions, {}))
    const changed = Mapping.parse(mergePreset(withActions, { severalRows: 'reject', action: null, rowTimeZone: null }))

    expect(kept).toMatchObject({ severalRows: { latest }, action: { join: ['Hire'] }, rowTimeZone: { column: 'Zone' } })
    expect(changed).toEqual({
      fields: kept.fields,
      severalRows: 'reject',
      statusMeans: 'now',
      onBadCell: 'keepField',
    })
  })

  test('loses removed fields', () => {
    const { fields, status } = merged({ fields: { email: null }, status: null })

    expect(fields).not.toHaveProperty('email')
    expect(status).toBeUndefined()
  })

  test('cannot be refined if it has no column', () => {
    expect(() => merged({ fields: { jobTitle: { onBlank: 'keep' } } })).toThrow(/fields/)
  })
})

describe('the generic preset', () => {
  const columnsOf = (header: string) => {
    const compiled = compileMapping(Mapping.parse(mergePreset(generic, {})), header.split(','))
    return compiled.ok ? compiled.columns : compiled.missing
  }

  test('needs only the key', () => {
    expect(columnsOf('Worker ID')).toEqual({ identityId: 'Worker ID' })
    expect(columnsOf('Name')).toEqual([expect.stringMatching(/\(identityId\) is in the header/)])
  })

  test('finds the columns of an ordinary report', () => {
    const columns = columnsOf(
      'Employee ID,Legal First Name,Last Name,Work Email,Business Title,Manager ID,Hire Date,Termination Date',
    )

    expect(columns).toEqual({
      identityId: 'Employee ID',
      firstName: 'Legal First Name',
      lastName: 'Last Name',
      email: 'Work Email',
      jobTitle: 'Business Title',
      managerId: 'Manager ID',
      startedAt: 'Hire Date',
      separatedAt: 'Termination Date',
    })
  })

  test('finds the columns of an export for SCIM provisioning', () => {
    const columns = columnsOf(
      'WorkerID,WorkerStatus,WorkerType,UserID,FirstName,LastName,FullName,ManagerID,HireDate,JobTitle',
    )

    expect(columns).toEqual({
      identityId: 'WorkerID',
      status: 'WorkerStatus',
      firstName: 'FirstName',
      lastName: 'LastName',
      managerId: 'ManagerID',
      startedAt: 'HireDate',
      jobTitle: 'JobTitle',
    })
  })

  test('names no column for two fields', () => {
    const named = Object.values(Mapping.parse(mergePreset(generic, {})).fields).flatMap((rule) =>
      rule === undefined ? [] : rule.column,
    )

    expect(new Set(named).size).toBe(named.length)
  })
})
