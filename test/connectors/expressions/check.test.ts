import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expressionProblem, expressionProblems } from '../../../src/connectors/expressions/expressions.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'

describe('a text as an expression', () => {
  test.each(['$lowercase(`Work Email`)', 'First & " " & Last', '$split(Name, ", ")[0]', '$trim(A)'])(
    '%s can be used',
    (text) => {
      expect(expressionProblem(text)).toBeNull()
    },
  )

  test.each([
    ['First &', /^not a JSONata expression: .*at character 7/],
    ['$lowercase(', /^not a JSONata expression/],
    ['/(/', /^not a JSONata expression/],
    ['('.repeat(2000), /^(not a JSONata expression|the expression is nested too deeply)/],
    ['$now()', /^\$now cannot be used/],
    ['First ~> $eval', /^\$eval cannot be used/],
    ['$map([1], $random)', /^\$random cannot be used/],
  ])('%s cannot', (text, problem) => {
    expect(expressionProblem(text)).toMatch(problem)
  })

  test('is found wrong at its place in a mapping', () => {
    const mapping = Mapping.parse({
      fields: { identityId: 'id', email: { expression: '$lowercase(' }, jobTitle: { expression: 'Title' } },
      status: { expression: '$millis()', leftWhen: ['x'] },
    })

    expect(expressionProblems(mapping).map(({ path }) => path.join('.'))).toEqual([
      'fields.email.expression',
      'status.expression',
    ])
  })

  test('never throws while it is checked', () => {
    const signs = fc.array(fc.constantFrom(...'$First()[]{}|&*/?:=.,"`~>% 1'), { maxLength: 40 })
    fc.assert(
      fc.property(signs, (text) => {
        const problem = expressionProblem(text.join(''))

        expect(problem === null || typeof problem === 'string').toBe(true)
      }),
    )
  })
})
