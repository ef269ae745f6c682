import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { readPresets } from '../../src/daemon/config/presets.ts'
import { isReject } from '../../src/identity/mapping/rows.ts'
import type { Observation } from '../../src/identity/record.ts'
import { presetNamed, readFixture } from '../helpers/presets/fixtures.ts'
import { inventCompany } from './company.ts'
import { families, sampleOf } from './families.ts'

const folder = new URL('../../config/samples/', import.meta.url)
const mostBytes = 60 * 1024

const people = inventCompany()
const leaverCount = people.filter(({ employment }) => employment === 'left').length

/** What says in a family that somebody has left, besides a date. */
const withoutStatus = ['factorial', 'gusto', 'odoo', 'orangehrm', 'successfactors']

test('there is a sample for each preset of exports, and no other file', async () => {
  const presets = [...(await readPresets())].filter(([, { recipe }]) => !recipe).map(([name]) => name)

  const samples = await readdir(folder)

  expect(samples.sort()).toEqual(
    Object.keys(families)
      .map((name) => `${name}.csv`)
      .sort(),
  )
  expect(samples.map((file) => file.replace('.csv', '')).sort()).toEqual(presets.sort())
})

describe.each(Object.entries(families))('the sample of %s', (name, family) => {
  test('is the one that test/samples/make.ts writes', async () => {
    const written = await readFile(new URL(`${name}.csv`, folder))

    expect(written.equals(sampleOf(family))).toBe(true)
    expect(written.length).toBeLessThan(mostBytes)
  })

  test('has 300 people whom its preset reads, with leavers and contractors among them', async () => {
    const encoding = name === 'personio-de' ? { format: { encoding: 'windows-1252' } } : {}
    const { results } = await readFixture(new URL(`${name}.csv`, folder).href, name, encoding as object)

    const read = results.filter((one): one is Observation => !isReject(one))
    const { mapping } = await presetNamed(name)

    expect(results.length).toBe(300)
    expect(read.length).toBe(300)
    expect(read.filter((one) => one.statesDeparture).length).toBe(withoutStatus.includes(name) ? 0 : leaverCount)
    expect(read.filter((one) => one.leavingDate).length).toBeGreaterThan(leaverCount)
    const contractors = read.filter((one) => one.fields.isContractor).length
    expect(contractors > 0).toBe(mapping.fields?.isContractor !== undefined && !withoutStatus.includes(name))
  })
})
