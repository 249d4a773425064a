/** The routes of the automation catalog and of `/me`. */
export { createCatalogRoutes } from './catalog.ts'
