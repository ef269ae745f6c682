import { expect, test } from 'vitest'
import { foldValue } from '../../../src/identity/mapping/fold-value.ts'

test('a value of several lines is the same whatever the ends of its lines are', () => {
  expect(['On leave\nsince May', 'on leave\r\nsince may ', 'ON LEAVE\rSINCE MAY'].map(foldValue)).toEqual(
    Array.from({ length: 3 }, () => 'on leave\nsince may'),
  )
})
