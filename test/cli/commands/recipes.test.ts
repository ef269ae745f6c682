import { expect, test } from 'vitest'
import { renderRecipe, renderRecipes } from '../../../src/cli/render/recipes.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { readPresets, readRecipes } from '../../../src/daemon/config/presets.ts'
import { call } from '../../helpers/called.ts'

test('recipes are listed with the system and what they ask for, and apart from them the presets for exports', async () => {
  const { exit, stdout, stderr } = await call(['recipes'])

  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  expect(stdout).toMatch(/^RECIPE +SYSTEM +ASKS FOR\n/)
  expect(stdout).toMatch(/^scim +Any system with a SCIM 2\.0 list of users +host of the SCIM address, .*bearer token$/m)
  const [lists = '', exports = ''] = stdout.split('Systems whose exports are known')
  const names = (text: string) => [...text.matchAll(/^ *([a-z0-9-]+) {2,}/gm)].map(([, name]) => name)
  expect(names(lists)).toEqual([...(await readRecipes()).keys()])
  expect(names(exports)).toEqual([...(await readPresets()).keys()])
})

test('one recipe is shown with the steps in the HR system, and a configuration to copy', async () => {
  const { exit, stdout } = await call(['recipes', 'scim'])

  expect(exit).toBe(0)
  expect(stdout).toMatch(
    /^scim: Any system with a SCIM 2\.0 list of users\n\nIn the HR system\n {2}1\. {2}Create a token/,
  )
  expect(stdout).toMatch(/\n {2}parameters\.host +host of the SCIM address +such as hr\.example\.com\n/)
  expect(stdout).toMatch(/\n {2}bearer +bearer token +The system shows it once/)
  expect(stdout).toContain('\nconnections:\n  hr:\n')
  expect(stdout).toMatch(/\n {6}preset: scim .*\n {6}parameters:\n {8}host: hr\.example\.com\n/)
  expect(stdout).toContain(`\n      bearer: \${file:/run/secrets/hr_bearer_token}\n`)
})

test('--json prints the same recipes', async () => {
  const [all, one] = [await call(['recipes', '--json']), await call(['recipes', 'scim', '--json'])]

  const list = JSON.parse(all.stdout)
  const scim = JSON.parse(one.stdout)
  expect(Object.keys(list)).toEqual(['recipes', 'exports'])
  expect(list.recipes.find(({ name }: { name: string }) => name === 'scim')).toEqual({
    name: 'scim',
    title: scim.title,
    parameters: scim.parameters,
    credentials: [
      { setting: 'bearer', label: 'bearer token', help: expect.any(String), is: 'secret', optional: false },
    ],
  })
  expect(scim).toMatchObject({ setup: expect.any(Array), notes: expect.any(Array), traps: expect.any(Array) })
  expect(scim.configuration).toContain('preset: scim')
})

test.each([
  ['scm', 'there is no recipe "scm": did you mean "scim"?'],
  ['workday', 'there is no recipe "workday": "rollcall recipes" lists them'],
])('an unknown recipe is refused: %s', async (name, sentence) => {
  const refused = await call(['recipes', name])

  expect(refused).toEqual({ exit: 2, stdout: '', stderr: `✖ ${sentence}\n` })
})

test('an optional credential is marked in a recipe and left out of the list', () => {
  const recipe = {
    name: 'shop',
    title: 'Shop',
    parameters: [],
    credentials: [
      { setting: 'bearer', label: 'token', help: 'Under Account.', optional: false },
      { setting: 'headers.X-Extra', label: 'extra', help: 'On request.', optional: true },
    ],
  }

  const details = renderRecipe(
    {
      ...recipe,
      setup: ['Create a token.'],
      notes: [],
      traps: ['leavers are missing'],
      configuration: 'connections: {}\n',
    },
    plain,
  )
  const list = renderRecipes({ recipes: [recipe], exports: [] }, plain)

  expect(details).toContain('  headers.X-Extra  extra (optional)  On request.\n')
  expect(details).toContain('What to know\n  -  Leavers are missing.\n')
  expect(list).toContain('\nshop    Shop    token\n')
})
