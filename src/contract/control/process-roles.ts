/**
 * What a process of the daemon does. `api`: webhooks, pages and the control API; `scheduler`: schedules, watched folders, sweeps,
 * alerts, retention; `worker`: the jobs of the queue. It stands apart from the schemas, which a status that is printed at once
 * does not load.
 */
export const processRoles = ['api', 'scheduler', 'worker'] as const
