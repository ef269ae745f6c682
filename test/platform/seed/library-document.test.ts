import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ControlCategory, ControlDomain } from '../../../src/contract/platform/control-classes.ts'
import { readLibrary, readSeed } from '../../../src/platform/seed/file.ts'
import { type LibraryControl, LibraryDocument } from '../../../src/platform/seed/library-document.ts'

const library = await readLibrary('config/control-library.yaml')

describe('the library that comes with the platform', () => {
  test('is large enough to try every list and filter on', () => {
    const requirements = library.frameworks.flatMap((framework) => framework.requirements)

    expect(library.controls.length).toBeGreaterThanOrEqual(90)
    expect(library.frameworks.length).toBeGreaterThanOrEqual(6)
    expect(requirements.length).toBeGreaterThanOrEqual(90)
    expect(library.tests.length).toBeGreaterThanOrEqual(40)
    expect(library.policies.length).toBeGreaterThanOrEqual(20)
    expect(library.evidence.length).toBeGreaterThanOrEqual(40)
    expect(library.risks.length).toBeGreaterThanOrEqual(25)
  })

  test.each(ControlDomain.options)('has three controls or more in the domain %s', (domain) => {
    const controls = library.controls.filter((one) => one.domain === domain)

    expect(controls.length).toBeGreaterThanOrEqual(3)
  })

  test('has a control in every category', () => {
    const categories = new Set(library.controls.map(({ category }) => category))

    expect([...categories].toSorted()).toEqual(ControlCategory.options.toSorted())
  })

  test.each(['tests', 'policies', 'evidence', 'risks'] as const)('has controls with and without %s', (mapping) => {
    const mapped = library.controls.filter((one) => one[mapping].length > 0)

    expect(mapped.length).toBeGreaterThan(0)
    expect(mapped.length).toBeLessThan(library.controls.length)
  })

  test('leaves no test, policy, evidence, risk or requirement unused', () => {
    const used = (list: (control: LibraryControl) => readonly string[]) => new Set(library.controls.flatMap(list))
    const requirements = library.frameworks.flatMap(({ slug, requirements: all }) => {
      const mapped = used((one) => one.requirements[slug] ?? [])
      return all.filter(({ name }) => !mapped.has(name)).map(({ name }) => `${slug} ${name}`)
    })

    expect(new Set(library.tests.map(({ name }) => name))).toEqual(used(({ tests }) => tests))
    expect(new Set(library.policies.map(({ name }) => name))).toEqual(used(({ policies }) => policies))
    expect(new Set(library.evidence.map(({ code }) => code))).toEqual(used(({ evidence }) => evidence))
    expect(new Set(library.risks.map(({ code }) => code))).toEqual(used(({ risks }) => risks))
    expect(requirements).toEqual([])
  })

  test('describes every control differently', () => {
    const texts = library.controls.flatMap(({ name, description, question, activity }) => [
      name,
      description,
      question,
      activity,
    ])

    expect(new Set(texts).size).toBe(texts.length)
    expect(library.controls.every(({ code, number }) => code === `CTL-${number}`)).toBe(true)
  })
})

describe('a control library', () => {
  test('stays the same when it travels as JSON', () => {
    expect(LibraryDocument.parse(JSON.parse(JSON.stringify(library)))).toEqual(library)
  })

  test.each([
    ['a test that is not there', { tests: ['Nothing'] }, 'controls.0.tests.0', 'there is no test "Nothing"'],
    ['a policy that is not there', { policies: ['None'] }, 'controls.0.policies.0', 'there is no policy "None"'],
    ['evidence that is not there', { evidence: ['E-9'] }, 'controls.0.evidence.0', 'there is no evidence "E-9"'],
    ['a risk that is not there', { risks: ['R-9'] }, 'controls.0.risks.0', 'there is no risk "R-9"'],
    [
      'an unknown requirement',
      { requirements: { soc2: ['X1'] } },
      'controls.0.requirements.soc2.0',
      'there is no requirement of the framework "soc2" "X1"',
    ],
    [
      'an unknown framework',
      { requirements: { soc3: [] } },
      'controls.0.requirements.soc3',
      'there is no framework "soc3"',
    ],
    ['a test twice', { tests: ['T', 'T'] }, 'controls.0.tests.1', 'the test "T" is there twice'],
    ['a topic twice', { topics: ['SECURITY', 'SECURITY'] }, 'controls.0.topics.1', 'is there twice'],
    ['a domain of its own', { domain: 'KITCHEN' }, 'controls.0.domain', 'Invalid option'],
    ['too long a code', { code: 'C'.repeat(21) }, 'controls.0.code', '20'],
    ['too long a question', { question: 'q'.repeat(769) }, 'controls.0.question', '768'],
    ['too long a name', { name: 'n'.repeat(192) }, 'controls.0.name', '191'],
    ['a number that fits no column', { number: 2 ** 31 }, 'controls.0.number', '2147483647'],
    ['a NUL', { name: 'a\0b' }, 'controls.0.name', 'NUL'],
    ['an unknown key', { frequency: 'daily' }, 'controls.0', 'frequency'],
  ])('with %s is refused at the place', (_what, overrides, path, part) => {
    const issues = issuesOf({ ...small(), controls: [{ ...control(1), ...overrides }] })

    expect(issues).toEqual([[path, expect.stringContaining(part)]])
  })

  test('with names, codes, numbers or slugs that stand twice is refused at the second', () => {
    const { frameworks, tests, policies, evidence, risks } = small()
    const twice = {
      frameworks: [...frameworks, ...frameworks],
      tests: [...tests, ...tests],
      policies: [...policies, ...policies],
      evidence: [...evidence, ...evidence],
      risks: [...risks, ...risks],
      controls: [control(1), control(1)],
    }

    const paths = issuesOf(twice).map(([path]) => path)

    expect(paths).toEqual([
      'frameworks.1',
      'tests.1',
      'policies.1',
      'evidence.1',
      'risks.1',
      'controls.1',
      'controls.1',
    ])
  })
})

describe('a seed file that names a library', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rollcall-library-'))
  })
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  test('brings that library along, from beside the file', async () => {
    await writeFile(join(folder, 'library.yaml'), JSON.stringify(small()))
    await writeFile(join(folder, 'seed.yaml'), 'library: library.yaml\naccounts: []')

    const seed = await readSeed(join(folder, 'seed.yaml'))

    expect(seed.library).toEqual(LibraryDocument.parse(small()))
  })

  test.each([
    ['is missing', null, 'source_unreadable', 'cannot read the control library'],
    ['is no YAML', 'tests: [', 'config_invalid', 'library.yaml is not YAML'],
    ['is wrong', 'tests: 7', 'config_invalid', 'library.yaml is no control library: frameworks: '],
  ])('fails with the name of the library where that %s', async (_what, text, code, part) => {
    if (text !== null) await writeFile(join(folder, 'library.yaml'), text)
    await writeFile(join(folder, 'seed.yaml'), 'library: library.yaml\naccounts: []')

    const reading = readSeed(join(folder, 'seed.yaml'))

    await expect(reading).rejects.toMatchObject({ code, message: expect.stringContaining(part) })
  })
})

function issuesOf(document: unknown): [string, string][] {
  const { error } = LibraryDocument.safeParse(document)
  return (error?.issues ?? []).map(({ path, message }) => [path.join('.'), message])
}

function small() {
  return {
    frameworks: [
      {
        tag: 'SOC_2',
        slug: 'soc2',
        name: 'SOC 2',
        pill: 'SOC 2',
        description: 'Criteria.',
        requirements: [{ name: 'CC1.1', description: 'Integrity.' }],
      },
    ],
    tests: [{ name: 'T', rating: 'RECOMMENDED', source: 'CUSTOM' }],
    policies: [{ name: 'P', description: 'Rules.' }],
    evidence: [{ code: 'E-1', name: 'E' }],
    risks: [{ code: 'R-1', name: 'R', description: 'Harm.' }],
    controls: [control(1)],
  }
}

function control(number: number) {
  return {
    code: `C-${number}`,
    number,
    name: 'Control',
    description: 'What is done.',
    question: 'Is it done?',
    activity: 'Do it.',
    domain: 'GENERAL',
    category: 'DATA',
  }
}
