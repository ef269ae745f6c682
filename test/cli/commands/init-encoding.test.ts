import iconv from 'iconv-lite'
import { expect, test } from 'vitest'
import { tableOf } from '../../../src/cli/init/encoding.ts'
import type { Prompts } from '../../../src/cli/session/prompts.ts'
import { rowOf, workbookOf } from '../../helpers/sources/workbooks.ts'

const bytes = iconv.encode('Nr;Name\n1;Erdős\n2;Szűcs\n3;Gergő\n', 'windows-1250')
const head = { name: 'people.csv', bytes, isWhole: true, hasFinalLineEnd: true }

/** A person who gives these answers, one after the other, and what was shown. */
function person(...answers: string[]) {
  const shown: string[] = []
  const prompts: Prompts = {
    text: async (message) => {
      shown.push(message)
      return answers.shift() ?? ''
    },
    choose: async (message, choices) => {
      shown.push(message, ...choices.map(({ label }) => label))
      const [answer] = answers.splice(0, 1)
      const chosen = choices.find(({ value }) => value === answer)
      if (chosen === undefined) throw new Error('the answer is one of the choices')
      return chosen.value
    },
    confirm: async () => true,
  }
  return { shown, asking: { prompts, output: { printMessage: (text: string) => void shown.push(text) } } }
}

test('an unclear encoding is asked for with words as each one reads them', async () => {
  const { shown, asking } = person('windows-1250')

  const { form, table } = await tableOf(head, {}, asking)

  expect(shown).toEqual([
    'The export is not UTF-8. Which of these is spelled correctly?',
    'Erdõs, Szûcs, Gergõ (windows-1252)',
    'Erdős, Szűcs, Gergő (windows-1250)',
    'Erdõs, Szūcs, Gergõ (windows-1257)',
    'another encoding',
  ])
  expect(form).toEqual({ encoding: 'windows-1250' })
  expect(table.rows[0]).toEqual(['1', 'Erdős'])
})

test('another encoding is asked for until it can be read', async () => {
  const { shown, asking } = person('another encoding', 'cp-none', 'another encoding', 'cp1250')

  const { table } = await tableOf(head, {}, asking)

  expect(shown).toContainEqual(expect.stringContaining('cp-none: unknown encoding'))
  expect(table).toMatchObject({ encoding: 'cp1250', rows: [['1', 'Erdős'], expect.anything(), expect.anything()] })
})

test('where nobody can be asked it is an error that names the option', async () => {
  const asking = { prompts: null, output: { printMessage: () => {} } }

  await expect(tableOf(head, {}, asking)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/windows-1252 .* or windows-1250 .*--encoding/),
  })
})

test('the sheet of a workbook with several is asked for', async () => {
  const bytesOfBook = await workbookOf({ sheets: { Notes: rowOf(1, 'x'), People: rowOf(1, 'id', 'name') } })
  const { shown, asking } = person('People')

  const { form, table } = await tableOf({ ...head, bytes: bytesOfBook, isWorkbook: true }, {}, asking)

  expect(shown).toEqual(['Which sheet lists the people?', 'Notes', 'People'])
  expect(form).toEqual({ sheet: 'People' })
  expect(table.headers).toEqual(['id', 'name'])
})
