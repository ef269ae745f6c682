import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Candidates, candidatesFor } from '../../src/cli/completion/candidates.ts'
import { scripts } from '../../src/cli/completion/scripts.ts'
import { addPlatformCommands } from '../../src/cli/definitions/support.ts'
import { createProgram } from '../../src/cli/program.ts'
import { command } from '../helpers/cli.ts'
import { shellProgram } from '../helpers/servers/shells.ts'

const run = promisify(execFile)

const known = {
  connections: async (config: string | undefined) => (config === 'other.yaml' ? ['other'] : ['acme', 'globex']),
  runs: async () => [{ word: 'ab12cd34', about: 'acme, held' }],
  recipes: async () => [{ word: 'scim', about: 'SCIM' }],
}

async function complete(...words: string[]): Promise<Candidates> {
  const program = createProgram(() => {})
  await addPlatformCommands(program)
  return await candidatesFor(program, words, known)
}

async function wordsFor(...words: string[]): Promise<string[]> {
  return (await complete(...words)).candidates.map(({ word }) => word)
}

test('commands, options, choices, connections, runs and files are completed where they fit', async () => {
  expect(await wordsFor('statu')).toEqual(['status'])
  expect(await wordsFor('audit', '')).toEqual(['verify', 'export', 'new-key'])
  expect(await wordsFor('--config', 'x.yaml', 'plat')).toEqual(['platform'])
  expect(await wordsFor('platform', 'serv')).toEqual(['serve'])
  expect(await wordsFor('status', '--wa')).toEqual(['--watch'])
  expect(await wordsFor('sync', '--connection', '')).toEqual(['acme', 'globex'])
  expect(await wordsFor('--config', 'other.yaml', 'sync', '--connection', '')).toEqual(['other'])
  expect(await wordsFor('approve', '')).toEqual(['last', 'last-1', '@held', 'ab12cd34'])
  expect(await wordsFor('approve', '@')).toEqual(['@held'])
  expect(await wordsFor('approve', 'ab12', '--by', 'ana', '--')).toContain('--digest')
  expect(await wordsFor('alias', '--run', 'ab')).toEqual(['ab12cd34'])
  expect(await wordsFor('events', '--state', 're')).toEqual(['rejected'])
  expect(await wordsFor('accept-status', 'Exited', '--as', 'l')).toEqual(['left'])
  expect(await wordsFor('webhook', 'test', 'gl')).toEqual(['globex'])
  expect(await wordsFor('pause', '')).toEqual(['acme', 'globex'])
  expect(await wordsFor('recipes', '')).toEqual(['scim'])
  expect(await wordsFor('init', '--recipe', 's')).toEqual(['scim'])
  expect(await wordsFor('token', 'revoke', '')).toEqual([])
  expect(await wordsFor('platform', 'keys', 'revoke', '')).toEqual([])
  expect(await wordsFor('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  expect(await complete('backup', '')).toMatchObject({ files: true })
  expect(await complete('plan', '--out', './')).toMatchObject({ files: true })
  expect(await wordsFor('person', 'E0')).toEqual([])
  expect(await wordsFor('')).not.toContain('complete')
})

const inBash = `
source ./rollcall.bash
try() { COMP_LINE=$1 COMP_POINT=\${#1} COMP_WORDS=("\${@:2}") COMP_CWORD=$(($# - 2)); _rollcall; echo "\${COMPREPLY[*]}"; }
try 'rollcall statu' rollcall statu
try 'rollcall audit ' rollcall audit ''
try 'rollcall approve @h' rollcall approve @ h
try 'rollcall backup roll' rollcall backup roll
`

const inFish = `
source ./rollcall.fish
for line in 'rollcall statu' 'rollcall approve @' 'rollcall backup rollcall.f'; complete -C $line; end
`

// What a person types goes through a terminal of its own; the words that are missing appear behind it.
const inZsh = `
zmodload zsh/zpty
TERM=vt100 zpty -b typed zsh -f -i
shows() {
  local out= chunk
  integer i
  for ((i = 0; i < 300; i++)); do
    while zpty -r -t typed chunk; do out+=$chunk; done
    [[ $out == *$1* ]] && { print "shows $1"; return }
    sleep 0.1
  done
  print -r -- "does not show $1: \${(V)out}"
}
zpty -w typed 'autoload -U compinit && compinit -u -D && source ./rollcall.zsh && echo rea""dy'
shows ready
zpty -w -n typed $'rollcall statu\\t'; shows 's'
zpty -w -n typed $'\\C-urollcall approve @\\t'; shows held
zpty -w -n typed $'\\C-urollcall backup rollcall.f\\t'; shows ish
`

describe('a shell', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rollcall-shells-'))
    await writeFile(join(folder, 'rollcall'), `#!/bin/sh\nexec '${command}' "$@"\n`)
    await chmod(join(folder, 'rollcall'), 0o755)
    for (const [shell, script] of Object.entries(scripts)) await writeFile(join(folder, `rollcall.${shell}`), script)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each([
    ['bash', inBash, ['status', 'verify export new-key', 'held', '']],
    [
      'fish',
      inFish,
      ['status\tShow the daemon, the connections and their runs', '@held\tthe run that is held', 'rollcall.fish'],
    ],
    ['zsh', inZsh, ['shows ready', 'shows s', 'shows held', 'shows ish']],
  ] as const)('completes the words of the program: %s', async (shell, lines, expected) => {
    const program = await shellProgram(shell)
    await writeFile(join(folder, `try.${shell}`), lines)
    const env = { ...process.env, HOME: folder, PATH: [folder, process.env.PATH].join(delimiter) }

    const { stdout } = await run(program, [join(folder, `try.${shell}`)], { cwd: folder, env })

    expect(stdout.split('\n').slice(0, -1)).toEqual(expected)
  })
})
