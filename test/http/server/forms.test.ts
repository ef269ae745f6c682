import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { acceptPageForms } from '../../../src/http/server/forms.ts'

const limit = 32 * 1024

/** What a page of such a scope answers to a form. */
async function send(payload: string) {
  await using app = Fastify()
  acceptPageForms(app, limit)
  app.post('/', async ({ body }) => body)
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  return await app.inject({ method: 'POST', url: '/', headers, payload })
}

test.each([
  ['a=1&b=two+words', { a: '1', b: 'two words' }],
  ['name=J%C3%BCrgen+%26+S%C3%B6hne&empty=', { name: 'Jürgen & Söhne', empty: '' }],
  ['key=1&key=2&key=3', { key: ['1', '2', '3'] }],
  ['sum=1%2B1&share=5%', { sum: '1+1', share: '5%' }],
  ['constructor=x', { constructor: 'x' }],
  ['', {}],
])('the form %j is read like a form of a browser', async (form, fields) => {
  const answer = await send(form)

  expect(answer.statusCode).toBe(200)
  expect(answer.json()).toEqual(fields)
})

test('every field of a form is read, however many there are', async () => {
  const names = Array.from({ length: 2500 }, (_, at) => `field-${at}`)

  const answer = await send(names.map((name) => `${name}=1`).join('&'))

  expect(Object.keys(answer.json())).toEqual(names)
})

test('a form that is longer than it may be is refused', async () => {
  const answer = await send(`a=${'x'.repeat(limit)}`)

  expect(answer.statusCode).toBe(413)
})
