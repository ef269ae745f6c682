import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newRecords } from '../helpers/data-records.ts'
import { newInventory } from '../helpers/inventories.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { nastyTexts } from './rubbish.ts'

/** A key of a record is never empty, and never longer than a short column. */
const keys = nastyTexts.filter((text) => text !== '' && [...text].length <= 191)
/** All but `__proto__`, which is refused because it would change how objects behave. */
const properties = nastyTexts.filter((text) => text !== '__proto__')

// Texts that the generated tests cannot cover, because no schema names these fields.
describe.each(databases)(
  'texts that are nasty to computers, where no field is named, on $name',
  ({ createDatabase }) => {
    let opened: TestPlatform

    beforeAll(async () => {
      opened = await openTestPlatform(createDatabase)
    })
    afterAll(async () => {
      await opened[Symbol.asyncDispose]()
    })

    test('are keys, properties and values of records, and read back as they were written', async () => {
      const { send, list } = await newRecords(opened, await opened.newAccount(), {})
      const sent = keys.map((id, index) => ({ [properties[index] ?? 'more']: [id], hostname: id, id }))

      const results = bodyOf(await send(sent), 200)

      const stored = await list()
      expect([results].flat().map(({ statusCode }) => statusCode)).toEqual(sent.map(() => 201))
      expect(new Map(stored.map(({ id, attributes }) => [id, attributes]))).toEqual(
        new Map(sent.map((record) => [record.id, record])),
      )
    })

    test('lead to records as parts of a path', async () => {
      const {
        send,
        update,
        delete: remove,
        keys: remainingKeys,
      } = await newRecords(opened, await opened.newAccount(), {})
      await send(keys.map((id) => ({ id, hostname: 'before' })))

      const updates = await Promise.all(keys.map((id) => update(id, { hostname: id })))
      const removals = await Promise.all(keys.map((id) => remove(id)))

      expect(updates.map((answer) => bodyOf(answer, 200).attributes)).toEqual(keys.map((id) => ({ id, hostname: id })))
      expect(removals.map(({ status }) => status)).toEqual(keys.map(() => 204))
      expect(await remainingKeys()).toEqual([])
    })

    test('are apps and explanations of devices', async () => {
      const { client, report } = await newInventory(opened)
      const appList = keys.map((name) => ({ name, version: '1' }))
      const [antivirusExplanation, firewallExplanation] = [0, 1].map((half) =>
        Object.fromEntries(properties.filter((_text, index) => index % 2 === half).map((text) => [text, [text]])),
      )
      const explanations = { antivirusExplanation, firewallExplanation }

      const device = await report({ appList, ...explanations })

      const params = { deviceId: device.id }
      const read = bodyOf(await client.getDevice({ params, query: { 'expand[]': ['deviceApps'] } }), 200)
      expect(read).toMatchObject(explanations)
      expect(read.apps?.map(({ installedApp }) => installedApp)).toEqual(keys.map((name) => `${name} 1`))
    })
  },
)
