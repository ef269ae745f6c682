import { performTasks, threadSetup } from '../../../src/system/task-thread.ts'

const setup = threadSetup<string>()

/** Performs the steps of a task in order. */
performTasks((steps: readonly string[], begin) => {
  const done: string[] = []
  for (const [number, step] of steps.entries()) {
    begin(number)
    if (step === 'hang') for (;;);
    if (step === 'fill')
      for (const kept: string[] = []; ; ) kept.push('x'.repeat(1_000_000 + kept.length).toUpperCase())
    if (step === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    if (step === 'throw') throw new Error('the task is broken')
    if (step === 'exit') process.exit(3)
    done.push(setup + step)
  }
  return done
})
