import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { type ControlCompany, newControlCompany } from '../helpers/control-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const unknownId = Number.MAX_SAFE_INTEGER

describe.each(databases)('control notes on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let company: ControlCompany
  let stranger: ControlCompany
  let controls = 0

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    company = await newControlCompany(opened, 'Acme')
    stranger = await newControlCompany(opened, 'Bolt')
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  /** A separate control for a test. */
  const newControl = async () => {
    controls += 1
    const params = { workspaceId: company.workspaceId }
    const body = { name: 'Noted', description: 'By a test.', code: `N-${controls}` }
    const { id } = bodyOf(await company.client.createControl({ params, body }), 201)
    return { ...params, controlId: id }
  }
  type Params = { workspaceId: number; controlId: number }
  const write = async (params: Params, comment: string) =>
    bodyOf(await company.client.createControlNote({ params, body: { comment } }), 201)
  const commentsOf = async (params: Params, query = {}) => {
    const { data } = bodyOf(await company.client.listControlNotes({ params, query }), 200)
    return data.map(({ comment }) => comment)
  }

  test('a note is read back as it was written, with its author on request', async () => {
    const params = await newControl()

    const note = await write(params, 'Looked at it.')

    expect(note).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ownerId: expect.any(Number),
      comment: 'Looked at it.',
      createdAt: opened.clock.now().toISOString(),
      updatedAt: opened.clock.now().toISOString(),
    })
    const address = { ...params, noteId: note.id }
    expect(bodyOf(await company.client.getControlNote({ params: address, query: {} }), 200)).toEqual(note)
    const expanded = await company.client.getControlNote({ params: address, query: { 'expand[]': ['owner'] } })
    expect(bodyOf(expanded, 200)).toMatchObject({ ...note, owner: { id: note.ownerId, firstName: 'test' } })
    const listed = await company.client.listControlNotes({ params, query: { 'expand[]': ['owner'] } })
    expect(bodyOf(listed, 200).data).toMatchObject([{ ...note, owner: { id: note.ownerId } }])
  })

  test('notes are paged, counted, sorted and left out by their ids', async () => {
    const params = await newControl()
    const notes = []
    for (const comment of ['a', 'b', 'c']) {
      opened.clock.advance(minuteMs)
      notes.push(await write(params, comment))
    }
    const [a, b] = notes.map(({ id }) => id)

    const first = await company.client.listControlNotes({ params, query: { size: 2, includeTotalCount: true } })

    const { data, pagination } = bodyOf(first, 200)
    expect(data.map(({ comment }) => comment)).toEqual(['a', 'b'])
    expect(pagination.totalCount).toBe(3)
    expect(await commentsOf(params, { size: 2, cursor: pagination.cursor })).toEqual(['c'])
    expect(await commentsOf(params, { sortDir: 'DESC' })).toEqual(['c', 'b', 'a'])
    expect(await commentsOf(params, { excludeIds: [a, b, randomUUID()] })).toEqual(['c'])
  })

  test('an update changes the comment and not the author', async () => {
    const params = await newControl()
    const note = await write(params, 'old')
    const colleague = await opened.clientOf('Acme', 'all')
    opened.clock.advance(minuteMs)

    const answer = await colleague.updateControlNote({
      params: { ...params, noteId: note.id },
      body: { comment: 'new' },
    })

    expect(bodyOf(answer, 200)).toEqual({ ...note, comment: 'new', updatedAt: opened.clock.now().toISOString() })
  })

  test('an update to the same comment changes nothing and records no event', async () => {
    const params = await newControl()
    const note = await write(params, 'same')
    const before = await company.events('CONTROL_NOTE_EDITED')
    opened.clock.advance(minuteMs)

    const answer = await company.client.updateControlNote({
      params: { ...params, noteId: note.id },
      body: { comment: 'same' },
    })

    expect(bodyOf(answer, 200)).toEqual(note)
    expect(await company.events('CONTROL_NOTE_EDITED')).toEqual(before)
  })

  test('a deleted note is gone, and deleting answers 200 without a body', async () => {
    const params = await newControl()
    const note = await write(params, 'wrong')
    const { key } = await opened.operator.createKey({ body: { account: 'Acme', name: 'deleter', permissions: 'all' } })
    const path = `/workspaces/${params.workspaceId}/controls/${params.controlId}/notes/${note.id}`

    const answer = await fetch(`${opened.platform.baseUrl}${path}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${key}` },
    })

    expect([answer.status, await answer.text()]).toEqual([200, ''])
    const again = await company.client.deleteControlNote({ params: { ...params, noteId: note.id } })
    expect(again.status).toBe(404)
    expect(await commentsOf(params)).toEqual([])
  })

  test('every write is an event about the note', async () => {
    const params = await newControl()
    const note = await write(params, 'a')
    const address = { ...params, noteId: note.id }
    await company.client.updateControlNote({ params: address, body: { comment: 'b' } })
    const deleted = await company.client.deleteControlNote({ params: address })

    expect(deleted.status).toBe(200)
    for (const type of ['CONTROL_NOTE_ADDED', 'CONTROL_NOTE_EDITED', 'CONTROL_NOTE_DELETED']) {
      const last = (await company.events(type)).at(-1)
      expect(last?.metadata).toEqual({ targetEntity: { kind: 'controlNote', id: note.id } })
      expect(last?.description).toContain(`the control ${params.controlId}`)
    }
  })

  test.each(['', 'c'.repeat(192), 'a\0b', '\udc00'])('the comment %j is refused with 400', async (comment) => {
    const params = await newControl()
    const note = await write(params, 'fine')

    const answers = [
      await company.client.createControlNote({ params, body: { comment } }),
      await company.client.updateControlNote({ params: { ...params, noteId: note.id }, body: { comment } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 400])
  })

  test('an id that is not a UUID is 400', async () => {
    const params = await newControl()
    const address = { ...params, noteId: 'first' }

    const answers = [
      await company.client.getControlNote({ params: address, query: {} }),
      await company.client.updateControlNote({ params: address, body: { comment: 'a' } }),
      await company.client.listControlNotes({ params, query: { excludeIds: ['first'] } }),
      await company.client.deleteControlNote({ params: address }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400])
  })

  test('unknown ids and those of others are 404', async () => {
    const params = await newControl()
    const { id: noteId } = await write(params, 'here')
    const elsewhere = await newControl()
    const theirs = { workspaceId: stranger.workspaceId, controlId: stranger.controls['LIB-1'] ?? 0 }
    const hiddenControls = [
      { ...params, controlId: unknownId },
      { ...params, workspaceId: unknownId },
      { ...params, workspaceId: company.otherWorkspaceId },
      theirs,
    ]

    const answers = await Promise.all([
      ...hiddenControls.flatMap((control) => [
        company.client.listControlNotes({ params: control, query: {} }),
        company.client.createControlNote({ params: control, body: { comment: 'a' } }),
      ]),
      ...[...hiddenControls, elsewhere].flatMap((control) => [
        company.client.getControlNote({ params: { ...control, noteId }, query: {} }),
        company.client.updateControlNote({ params: { ...control, noteId }, body: { comment: 'a' } }),
        company.client.deleteControlNote({ params: { ...control, noteId } }),
      ]),
      company.client.getControlNote({ params: { ...params, noteId: randomUUID() }, query: {} }),
    ])

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
    expect(await commentsOf(params)).toEqual(['here'])
  })

  test('notes of a control that is deleted meanwhile are 404 and never an error of the server', async () => {
    const params = await newControl()
    const { id: noteId } = await write(params, 'first')
    const { db } = opened.platform.database

    const [answers] = await Promise.all([
      Promise.all(
        Array.from({ length: 8 }, (_, index) => [
          company.client.createControlNote({ params, body: { comment: `${index}` } }),
          company.client.updateControlNote({ params: { ...params, noteId }, body: { comment: `${index}` } }),
        ]).flat(),
      ),
      db.deleteFrom('controls').where('id', '=', params.controlId).execute(),
    ])

    expect(answers.filter(({ status }) => ![200, 201, 404].includes(Number(status)))).toEqual([])
  })
})
