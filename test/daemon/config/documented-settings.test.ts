import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { connectorKinds } from '../../../src/connectors/registry/registry.ts'
import { jsonSchema } from '../../../src/daemon/config/json-schema.ts'
import { MappingPatch } from '../../../src/identity/mapping/mapping.ts'

const docs = new URL('../../../docs/', import.meta.url)
const pages = (await readdir(docs)).filter((file) => file.endsWith('.md'))
/** Names in messages and on a page that are no settings. */
const otherNames = ['data', 'reminder']

const SourceProperties = z.looseObject({
  type: z.union([z.looseObject({ const: z.string() }), z.looseObject({ enum: z.array(z.string()) })]),
})
const sourceSchema = z.object({
  properties: z.object({
    connections: z.object({
      additionalProperties: z.object({
        properties: z.object({
          source: z.object({ oneOf: z.array(z.object({ properties: SourceProperties })) }),
        }),
      }),
    }),
  }),
})

/** The names of all settings of a JSON schema, at any depth. */
function namesIn(schema: unknown, names = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return names
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name)
    namesIn(value, names)
  }
  return names
}

describe('the settings', () => {
  test.each(pages)('that %s names with a value exist in the configuration', async (page) => {
    const text = await readFile(new URL(page, docs), 'utf8')

    const named = [...text.matchAll(/`([a-z][A-Za-z]+): [^`\n]+`/g)].map(([, name = '']) => name)

    expect(named.filter((name) => !otherNames.includes(name) && !namesIn(jsonSchema()).has(name))).toEqual([])
  })

  test('of the configuration are all explained on the page of settings', async () => {
    const page = await readFile(new URL('settings.md', docs), 'utf8')

    const missing = [...namesIn(jsonSchema())].filter((name) => !new RegExp(String.raw`\b${name}\b`).test(page))

    expect(missing).toEqual([])
  })

  test('have all that a preset may set, for each type of source; a source that is pushed lacks what its standard fixes', () => {
    const types = sourceSchema.parse(jsonSchema()).properties.connections.additionalProperties.properties.source.oneOf

    const lacking = types.map(({ properties }) => [
      'const' in properties.type ? properties.type.const : properties.type.enum,
      Object.keys(MappingPatch.shape).filter((part) => !(part in properties)),
    ])

    const { scim, ...read } = Object.fromEntries(lacking)
    expect(scim).toEqual(['action', 'severalRows', 'scope', 'group'])
    expect(Object.values(read)).toEqual(connectorKinds.map(() => []))
  })
})
