import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../helpers/sources/folders.ts'

const run = promisify(execFile)
const findFiles = fileURLToPath(new URL('../../bin/find-files.mjs', import.meta.url))

/** What a program prints, with the files found by Node and as Rollcall has them found. Links lead from a file of the program to another. */
async function printedBy(files: Readonly<Record<string, string>>, links: Readonly<Record<string, string>> = {}) {
  await using folder = await temporaryFolder()
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true })
    await writeFile(join(folder.path, name), text)
  }
  for (const [name, to] of Object.entries(links)) await symlink(join(folder.path, to), join(folder.path, name))
  const main = join(folder.path, 'main.mjs')
  const byNode = await run(process.execPath, [main])
  const here = await run(process.execPath, ['--import', findFiles, main])
  return { byNode: byNode.stdout, here: here.stdout }
}

test('files of all kinds are what Node takes them for', async () => {
  const { byNode, here } = await printedBy({
    'main.mjs': `
      import one from './one.mjs'
      import two from './two.mjs'
      import three from './three.ts'
      import four from './four.cjs'
      import five from './five.cjs'
      import six from './six.json' with { type: 'json' }
      import seven from './common/seven.js'
      import eight from './common/eight.js'
      import nine from './nine.mjs?again'
      console.log(one, two, three, four, five, six, seven, eight, nine)`,
    'one.mjs': 'export default import.meta.url.split("/").at(-1)',
    'two.mjs': 'export default typeof require',
    'three.ts': 'const three: number = 3; export default three',
    'four.cjs': 'module.exports = typeof require',
    'five.cjs': 'module.exports = require("./four.cjs") + 5',
    'six.json': '{ "six": 6 }',
    'common/package.json': '{ "type": "commonjs" }',
    'common/seven.js': 'module.exports = require("./eight") + 7',
    'common/eight.js': 'module.exports = __filename.split("/").at(-1)',
    'nine.mjs': 'export default import.meta.url.split("?")[1]',
  })

  expect(byNode).toContain('one.mjs undefined 3 function function5 { six: 6 } eight.js7 eight.js again')
  expect(here).toBe(byNode)
})

test('a file behind a link is loaded once, and what it names is looked for where it lies', async () => {
  const { byNode, here } = await printedBy(
    {
      'main.mjs': "import './link.mjs'; import './other.mjs'; console.log(globalThis.loaded)",
      'other.mjs': "import './link.mjs'; import './behind/real.mjs'",
      'behind/real.mjs': "import './beside.mjs'",
      'behind/beside.mjs': 'globalThis.loaded = (globalThis.loaded ?? 0) + 1',
    },
    { 'link.mjs': 'behind/real.mjs' },
  )

  expect(byNode).toBe('1\n')
  expect(here).toBe(byNode)
})
