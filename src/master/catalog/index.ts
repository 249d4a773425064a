/** What is installed, and what a token may do with it. */
export { createCatalogRoutes } from './catalog.ts'
