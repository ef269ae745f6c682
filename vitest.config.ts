import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    globalSetup: ['test/global-setup.ts'],
    pool: 'forks',
    // Most tests wait for servers longer than they compute, so two processors serve four.
    maxWorkers: 4,
    // Loading the modules again for each file takes longer than most files do.
    isolate: false,
    // So much room for what lives for a moment only saves a fifteenth of all computing.
    execArgv: ['--max-semi-space-size=64'],
    // What takes a second on a machine of its own may take a minute on a busy one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    tags: [{ name: 'full', description: 'What `npm test` leaves out and `npm run test:full` does not.' }],
  },
})
