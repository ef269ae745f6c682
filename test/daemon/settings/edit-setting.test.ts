import { expect, test } from 'vitest'
import { withSetting } from '../../../src/daemon/settings/edit-setting.ts'

const written = `# From payroll.
preset: generic
fields:
  # The key of payroll.
  identityId: { column: Worker ID }
  email: Mail   # work

  startedAt:
    column: Start
    format: dd.MM.yyyy # as printed
severalRows: latest`

test.each<[string, readonly string[], unknown, string]>([
  ['a text', ['fields', 'email'], 'Work Mail', written.replace('email: Mail   # work', 'email: Work Mail # work')],
  [
    'a member of a mapping between braces',
    ['fields', 'identityId', 'column'],
    'Staff: No',
    written.replace('{ column: Worker ID }', "{ column: 'Staff: No' }"),
  ],
  [
    'a member of a mapping in lines',
    ['fields', 'startedAt', 'column'],
    'Joined',
    written.replace('column: Start', 'column: Joined'),
  ],
  ['a new member', ['fields', 'jobTitle'], 'Role', written.replace('printed\n', 'printed\n  jobTitle: Role\n')],
  ['null', ['fields', 'email'], null, written.replace('email: Mail   # work', 'email: null # work')],
  ['nothing', ['severalRows'], undefined, written.replace('\nseveralRows: latest', '')],
  ['a list in a new mapping', ['status', 'leftWhen'], ['Gone', 'T'], `${written}\nstatus:\n  leftWhen: [ Gone, T ]`],
])('%s is set, and every other line stays as written', (_what, path, value, expected) => {
  expect(withSetting(written, path, value)).toBe(expected)
})

test.each([
  ['in lines', 'leftWhen:\n  # Paid by others.\n  - Retired # pension\n  - Gone\n  - Dead # sadly'],
  ['in lines without indentation', 'leftWhen:\n- Retired # pension\n- Gone\n- Dead # sadly'],
  ['between brackets', 'leftWhen: [ Retired, Gone, Dead ] # of payroll'],
  ['between brackets in lines', 'leftWhen:\n  [\n    Retired, # pension\n    Gone,\n    Dead # sadly\n  ]'],
])('texts of a list %s are added and removed, and the others keep their comments', (_how, text) => {
  const gone = text.replace(/(?:\n *- |\n +)?\bGone\b,? ?/, '')
  const changed = withSetting(text, ['leftWhen'], ['Retired', 'Dead', 'Left'])

  expect(changed.replace(/(?:,? Left\b|\n *- Left|\n +Left)/, '').replaceAll(/[\s,]/g, '')).toBe(
    gone.replaceAll(/[\s,]/g, ''),
  )
  expect(changed).toContain('Left')
  expect(changed).not.toContain('Gone')
})

test('into nothing, a mapping is written; the last member takes its mapping with it', () => {
  expect(withSetting('', ['fields', 'email'], 'Mail')).toBe('fields:\n  email: Mail')
  expect(withSetting('a: 1\nfields:\n  email: Mail', ['fields', 'email'], undefined)).toBe('a: 1')
})

test('a comment below the last member of a mapping stays', () => {
  const text = 'fields:\n  email: Mail\n# status: { column: State }'

  expect(withSetting(text, ['fields', 'email'], 'Other')).toBe(text.replace('Mail', 'Other'))
})

test('what an alias stands for is not changed', () => {
  const text = 'base: &base { email: Mail }\nfields: *base'

  expect(() => withSetting(text, ['fields', 'email'], 'x')).toThrow('written as an alias')
})

test.each([
  [
    'the first',
    'leftWhen: # of payroll\n  # Paid by others.\n  - Retired\n  - Gone',
    'leftWhen:\n  # of payroll\n  - Gone',
  ],
  [
    'the first below a comment on all',
    'leftWhen:\n  # All.\n\n  - Retired\n  - Gone',
    'leftWhen:\n  # All.\n\n  - Gone',
  ],
  ['another', 'leftWhen:\n  - Gone\n  # Paid by others.\n  - Retired', 'leftWhen:\n  - Gone'],
  [
    'one below words that are commented out',
    'leftWhen:\n  # - Old\n  - Retired\n  # Now.\n  - Gone',
    'leftWhen:\n  # - Old\n  # Now.\n  - Gone',
  ],
  [
    'the last, below one that is commented out',
    'leftWhen:\n  - Gone\n  # - Old\n  - Retired\n  # - Oldest',
    'leftWhen:\n  - Gone\n  # - Old\n  # - Oldest',
  ],
])('of a list, %s word is removed with its own comment and no other', (_which, text, expected) => {
  expect(withSetting(text, ['leftWhen'], ['Gone'])).toBe(expected)
})
