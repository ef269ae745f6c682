import { allows } from './bad-bodies.ts'
import type { Badness, Case } from './bad-cases.ts'
import { bodySchemaOf, bodyWith, fieldsOf, toJson } from './body-fields.ts'
import { alternativesOf } from './json-schema.ts'
import { isReading, type NamedOperation, validCall } from './operations.ts'
import type { World } from './world.ts'

const mediaTypes = [
  ...[
    'text/plain',
    'text/html',
    'application/xml',
    'text/xml',
    'application/jsonx',
    'application/vnd.api+json',
    'json',
  ],
  ...['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/octet-stream', '*/*', 'x'],
]
const broken = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    '{"a":}',
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '[1,]',
    '[1 2]',
    '{"a":1}{"b":2}',
    '//',
    'NaN',
  ],
  ...[
    'undefined',
    'Infinity',
    '01',
    '.5',
    '1.',
    '+1',
    '"\\x41"',
    '"\\u12"',
    '"\n"',
    '\0',
    '\ufeff{',
    'tru',
    '<a/>',
    'a=1',
  ],
]
const notObjects = [
  'null',
  'true',
  'false',
  '0',
  '-1.5e3',
  '"text"',
  '"{}"',
  '[]',
  '[[]]',
  '{}',
  '[null]',
  '[1]',
  '["a"]',
  '[[[]]]',
]
const depth = 50_000
const bodyLimitBytes = 10 * 1024 * 1024

/** Bodies of another format than the operation reads. */
export const badDocuments: readonly Badness[] = [
  {
    kind: 'bodies that are no JSON',
    concerns: (operation) => !isReading(operation),
    cases: (world, named) => [
      ...broken.map((body) => withBody(world, named, body, [400])),
      ...cut(world, named).map((body) => withBody(world, named, body, [400])),
      ...(named.operation.body ? [withBody(world, named, '', [400])] : []),
      // In the name of an ignored field, so that the rest of the body is valid.
      withBody(world, named, Buffer.from(validText(world, named).replace('{', '{"\xe4":1,'), 'latin1'), [400]),
      withBody(world, named, Buffer.from(validText(world, named), 'utf16le'), [400]),
    ],
  },
  {
    kind: 'another media type',
    concerns: (operation) => !isReading(operation),
    cases: (world, named) => {
      const body = validText(world, named)
      const { authorization = '' } = withBody(world, named, body, [400]).request.headers
      const requests = [...mediaTypes.map((type) => ({ authorization, 'content-type': type })), { authorization }]
      return requests.map((headers) => {
        const isForm = 'content-type' in headers && headers['content-type'].startsWith('multipart/')
        // Some operations take forms, and this is none.
        const one = withBody(world, named, body, isForm ? [400, 415] : [415])
        return {
          ...one,
          label: `as ${'content-type' in headers ? headers['content-type'] : 'nothing'}`,
          request: { ...one.request, headers },
        }
      })
    },
  },
  {
    kind: 'bodies of another shape',
    concerns: ({ body }) => body !== undefined,
    cases: (world, named) => [
      ...shapes(world, named),
      ...deep(world, named),
      ...dangerous(world, named),
      ...repeated(world, named),
    ],
  },
  {
    kind: 'bodies of 20 MiB',
    concerns: (operation) => !isReading(operation),
    cases: (world, named) => [withBody(world, named, validText(world, named).padEnd(2 * bodyLimitBytes), [413])],
  },
]

function shapes(world: World, named: NamedOperation): Case[] {
  const { body, item } = named.operation
  return notObjects.flatMap((text) => {
    const value: unknown = JSON.parse(text)
    if (!body?.safeParse(value).success) return [withBody(world, named, text, [400])]
    const isRefusedByItem =
      item !== undefined && Array.isArray(value) && !value.some((one) => item.safeParse(one).success)
    return isRefusedByItem ? [{ ...withBody(world, named, text, [207]), byItem: true }] : []
  })
}

function deep(world: World, named: NamedOperation): Case[] {
  const lists = `${'['.repeat(depth)}${']'.repeat(depth)}`
  const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const takesList = alternativesOf(bodySchemaOf(named.operation)).some(({ type }) => type === 'array')
  if (!takesList) {
    return [lists, objects].flatMap((text) =>
      allows(named.operation, text) ? [] : withBody(world, named, text, [400]),
    )
  }
  return [
    withBody(world, named, objects, [400]),
    ...[lists, `[${objects}]`].map((text) => ({ ...withBody(world, named, text, [207, 400]), byItem: true })),
  ]
}

/** Keys that would change how objects behave. */
function dangerous(world: World, named: NamedOperation): Case[] {
  const valid = validText(world, named)
  const first = valid.indexOf('{') + 1
  const keys = ['"__proto__":{"a":1}', '"constructor":{"prototype":{"a":1}}', '"\\u005f_proto__":{"a":1}']
  return keys.map((text) => withBody(world, named, `${valid.slice(0, first)}${text},${valid.slice(first)}`, [400]))
}

/** Fields that occur twice, the second time with a value that is refused: the last one counts. */
function repeated(world: World, named: NamedOperation): Case[] {
  const { body } = validCall(named, world.mine.things)
  const valid = toJson(body)
  const end = valid.lastIndexOf('}')
  const outermost = Array.isArray(body) ? 2 : 1
  const fields = fieldsOf(bodySchemaOf(named.operation), body).filter(({ path }) => path.length === outermost)
  return fields.flatMap(({ path }) => {
    const wrong = [7, 'text', {}].find((value) => !allows(named.operation, bodyWith(body, path, value)))
    if (wrong === undefined) return []
    const text = `${valid.slice(0, end)},${JSON.stringify(path.at(-1))}:${JSON.stringify(wrong)}${valid.slice(end)}`
    const byItem = named.operation.item !== undefined
    return [{ ...withBody(world, named, text, byItem ? [207] : [400]), label: `${path.join('.')} twice`, byItem }]
  })
}

function cut(world: World, named: NamedOperation): string[] {
  const text = validText(world, named)
  return [text.slice(0, -1), text.slice(1), `${text}x`, `${text}${text}`, text.replaceAll('"', "'")]
}

function withBody(world: World, named: NamedOperation, body: string | Buffer, expected: readonly number[]): Case {
  const request = world.http.requestOf(named, validCall(named, world.mine.things), world.mine.key)
  const headers = { ...request.headers, 'content-type': 'application/json' }
  return { label: body.toString().slice(0, 30), request: { ...request, headers, body }, expected }
}

function validText({ mine }: World, named: NamedOperation): string {
  return toJson(validCall(named, mine.things).body ?? { a: 'b' })
}
