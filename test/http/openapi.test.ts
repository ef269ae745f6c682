import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { control } from '../../src/contract/control/control.ts'
import { operations } from '../../src/contract/operation.ts'
import { platformAreas } from '../../src/contract/platform/platform.ts'
import { openapi } from '../../src/http/openapi.ts'
import { notes } from './notes.ts'

const info = { title: 'Notes', version: '1.0.0' }

describe('the document', () => {
  test.each([
    ['the platform', platformAreas],
    ['the control API', [{ tag: 'Control', operations: control }]],
    ['the notes', [{ tag: 'Notes', operations: notes }]],
  ])('of %s is valid OpenAPI', async (_, areas) => {
    const document = openapi(areas, { ...info, description: 'All of it.', servers: ['http://127.0.0.1:4010/v1'] })

    const verdict = await new Validator().validate(structuredClone(document))

    expect(verdict).toEqual({ valid: true })
  })

  test('shows parameters as the table has them', () => {
    const document = openapi([{ tag: 'Notes', operations: notes }], info)

    expect(document).toMatchObject({
      paths: {
        '/books/{bookId}/pages/{pageId}': {
          get: {
            operationId: 'getPage',
            tags: ['Notes'],
            parameters: [
              { name: 'bookId', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } },
              { name: 'pageId', in: 'path', required: true, schema: { type: 'string' } },
              { name: 'size', in: 'query', required: false, schema: { type: 'integer', minimum: 1 } },
            ],
          },
        },
      },
    })
  })

  test('states that the entries of a list are sent one by one under its name', () => {
    const document = openapi([{ tag: 'Notes', operations: notes }], info)

    expect(document).toMatchObject({
      paths: {
        '/notes': {
          get: {
            parameters: expect.arrayContaining([
              expect.objectContaining({ name: 'expand[]', in: 'query', style: 'form', explode: true }),
              expect.objectContaining({ name: 'ids', in: 'query', style: 'form', explode: true }),
            ]),
          },
        },
      },
    })
  })

  test('shows who may call an operation', () => {
    const document = openapi([{ tag: 'Notes', operations: notes }], info)

    expect(document).toMatchObject({
      paths: {
        '/notes': {
          post: {
            security: [{ bearer: [] }],
            'x-permissions': ['notes-post', 'notes-admin'],
            'x-entitlement': 'NOTES',
          },
        },
      },
    })
  })

  test('shows the form of an item of a batch', () => {
    const document = openapi([{ tag: 'Notes', operations: notes }], info)

    expect(document).toMatchObject({
      paths: {
        '/notes/import': {
          post: {
            requestBody: {
              required: true,
              content: {
                'application/json': {
                  schema: {
                    type: 'array',
                    minItems: 1,
                    maxItems: 3,
                    items: { $ref: '#/components/schemas/NoteDraft' },
                  },
                },
              },
            },
          },
        },
      },
    })
  })

  test('shows for every error the body that its status has', () => {
    const document = openapi([{ tag: 'Notes', operations: notes }], info)

    const body = (name: string) => ({
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
    })
    expect(document).toMatchObject({
      paths: {
        '/notes': {
          post: {
            responses: {
              400: body('ExceptionResponsePublicV2Dto'),
              401: body('ExceptionResponseDto'),
              402: body('ExceptionResponseDto'),
              403: body('ExceptionResponseDto'),
              409: body('ExceptionResponsePublicV2Dto'),
              412: body('ExceptionResponseDto'),
              413: body('ExceptionResponsePublicV2Dto'),
              422: body('ExceptionResponsePublicV2Dto'),
              500: body('ExceptionResponseDto'),
            },
          },
        },
      },
    })
  })

  test('has no body for an answer without one', () => {
    const document = openapi([{ tag: 'Notes', operations: notes }], info)

    expect(document).toHaveProperty(['paths', '/notes/{noteId}', 'delete', 'responses', '204'], {
      description: expect.any(String),
    })
  })

  test('refuses two different schemas of one name', () => {
    const thing = (schema: z.ZodType) =>
      operations({ get: { method: 'GET', path: '/x', summary: 'x', success: { 200: schema }, errors: [] } })
    const one = thing(z.object({ a: z.string() }).meta({ id: 'OneName' }))
    const other = thing(z.object({ b: z.string() }).meta({ id: 'OneName' }))

    const build = () =>
      openapi(
        [
          { tag: 'One', operations: one },
          { tag: 'Other', operations: other },
        ],
        info,
      )

    expect(build).toThrow('OneName')
  })
})
